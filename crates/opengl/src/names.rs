//! OpenGL objects whose owners may end on a thread without OpenGL. In: their names. Out: they are deleted where their
//! context is current: at once, or when that thread looks next.

use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;

use glow::HasContext as _;

/// An object to be deleted.
#[derive(Debug, Clone, Copy)]
pub enum Name {
    /// A texture.
    Texture(glow::Texture),
    /// A buffer; that ends its mapping.
    Buffer(glow::Buffer),
    /// A fence.
    Fence(glow::Fence),
}

// SAFETY: a name is a number or a pointer that only its context's thread uses.
unsafe impl Send for Name {}

/// Those that nobody owns any more, with the thread that can delete them.
static LEFT: Mutex<Vec<(ThreadId, Name)>> = Mutex::new(Vec::new());

/// The thread that has an object's context.
#[derive(Debug, Clone, Copy)]
pub struct Home(ThreadId);

impl Home {
    /// This thread.
    pub fn here() -> Self {
        Self(std::thread::current().id())
    }

    /// Deletes an object of this thread's context, which must be current if this is called there.
    pub fn delete(self, gl: &glow::Context, name: Name) {
        if std::thread::current().id() == self.0 {
            delete(gl, name);
        } else {
            self.leave(name);
        }
    }

    /// Has an object of this thread's context deleted when that thread looks next: for owners that have no OpenGL.
    pub fn leave(self, name: Name) {
        LEFT.lock().unwrap_or_else(PoisonError::into_inner).push((self.0, name));
    }
}

/// Deletes what other threads have left of this thread's context, which must be current.
pub fn delete_left(gl: &glow::Context) {
    let me = std::thread::current().id();
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.extract_if(.., |(home, _)| *home == me).for_each(|(_, name)| delete(gl, name));
}

fn delete(gl: &glow::Context, name: Name) {
    // SAFETY: the context is current (see the callers), and the object has no owner any more.
    unsafe {
        match name {
            Name::Texture(texture) => gl.delete_texture(texture),
            Name::Buffer(buffer) => gl.delete_buffer(buffer),
            Name::Fence(fence) => gl.delete_sync(fence),
        }
    }
}
