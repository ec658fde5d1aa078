//! Deletion of OpenGL objects whose owners may be dropped on a thread without OpenGL. An object is deleted on the thread of its
//! context: at once, or at that thread's next call of [`delete_pending`].

use std::thread::ThreadId;

use glow::HasContext as _;
use parking_lot::Mutex;

/// An OpenGL object that is to be deleted.
#[derive(Debug, Clone, Copy)]
pub enum GlObject {
    /// A texture.
    Texture(glow::Texture),
    /// A buffer. Deleting it also unmaps it.
    Buffer(glow::Buffer),
    /// A fence.
    Fence(glow::Fence),
}

// SAFETY: it is a number or a pointer that only its context's thread uses.
unsafe impl Send for GlObject {}

/// OpenGL objects that are to be deleted, each with the thread whose context can delete it.
static PENDING: Mutex<Vec<(ThreadId, GlObject)>> = Mutex::new(Vec::new());

/// The thread on which an OpenGL context is current.
#[derive(Debug, Clone, Copy)]
pub struct ContextThread(ThreadId);

impl ContextThread {
    /// Returns the calling thread, on which the context must be current.
    pub fn here() -> Self {
        Self(std::thread::current().id())
    }

    /// Deletes an object at once if called on this thread, with the context current; otherwise leaves it to this thread's next
    /// [`delete_pending`].
    pub fn delete(self, gl: &glow::Context, name: GlObject) {
        if std::thread::current().id() == self.0 {
            delete(gl, name);
        } else {
            self.delete_later(name);
        }
    }

    /// Leaves an object to be deleted by this thread's next [`delete_pending`]. For owners that have no access to OpenGL.
    pub fn delete_later(self, name: GlObject) {
        PENDING.lock().push((self.0, name));
    }
}

/// Deletes the objects whose deletion was left to the calling thread by [`ContextThread`]. The context must be current.
pub fn delete_pending(gl: &glow::Context) {
    let me = std::thread::current().id();
    let mut left = PENDING.lock();
    left.extract_if(.., |(home, _)| *home == me).for_each(|(_, name)| delete(gl, name));
}

fn delete(gl: &glow::Context, name: GlObject) {
    // SAFETY: the context is current (see the callers), and nobody uses the object any more.
    unsafe {
        match name {
            GlObject::Texture(texture) => gl.delete_texture(texture),
            GlObject::Buffer(buffer) => gl.delete_buffer(buffer),
            GlObject::Fence(fence) => gl.delete_sync(fence),
        }
    }
}
