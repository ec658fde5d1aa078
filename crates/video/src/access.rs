//! Restricts the files that FFmpeg opens for a movie.
//!
//! FFmpeg opens no file itself: it calls [`open`], which returns an I/O context on the movie's own file, and on other regular
//! files only where [`References::Allowed`].

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{io, ptr};

use ffmpeg_next::ffi;
use libc::{c_char, c_int, c_void};
use parking_lot::Mutex;

use super::address;
use super::declared_size::declared_bytes;
use super::errors::cannot_open;
use super::read_control::{ReadControl, References};
use base::error::{Error, Result};
use base::load::{self, OpenError};
use base::numbers::thousands;
use base::text;

/// The size in bytes of the read buffer of an I/O context.
const BUFFER_BYTES: usize = 32 << 10;
/// The maximum number of times that FFmpeg may open a file while a movie is being opened. Without it, a playlist that contains
/// itself would be opened without end.
const MAX_OPEN_REQUESTS: u32 = 256;

/// A movie's file, and the rules by which FFmpeg's callbacks open other files. Boxed, since FFmpeg keeps its address.
pub(super) struct FileAccess {
    pub path: PathBuf,
    pub url: CString,
    pub file: Arc<File>,
    pub read_control: ReadControl,
    /// The number of files that FFmpeg has opened while the movie is being opened; `u32::MAX` afterwards, when there is no
    /// limit.
    pub open_requests: AtomicU32,
    /// The first file that FFmpeg asked to open and was refused; `None` if there is none.
    pub refused: Mutex<Option<RefusedFile>>,
}

impl FileAccess {
    /// Opens the movie's file.
    ///
    /// # Errors
    /// The path is not a regular file, or the file is empty or cannot be read.
    pub(crate) fn new(path: &Path, read_control: &ReadControl) -> Result<Box<Self>> {
        let file = load::open(path).map_err(|failure| open_error(path, &failure))?;
        if file.metadata().is_ok_and(|meta| meta.len() == 0) {
            let hint = "If it is still being copied, wait until it is complete.";
            return Err(cannot_open(path, "The file is empty.", hint));
        }
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // The "file:" in front keeps names such as `a:b.mp4` from being read as addresses.
        let url = CString::new([b"file:", whole.as_os_str().as_bytes()].concat())
            .map_err(|_| cannot_open(path, "The name holds a zero byte.", "Check the name."))?;
        Ok(Box::new(Self {
            path: path.to_owned(),
            url,
            file: Arc::new(file),
            read_control: read_control.clone(),
            open_requests: AtomicU32::new(0),
            refused: Mutex::default(),
        }))
    }

    /// Returns the current size of the movie's file in bytes; 0 if the system does not report it.
    pub(crate) fn bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |meta| meta.len())
    }

    /// Returns a sentence that says how many bytes are missing at the end of the file; `None` if none are missing, or the
    /// container does not tell the size.
    pub(crate) fn missing_bytes_message(&self) -> Option<String> {
        let (bytes, announced) = (self.bytes(), declared_bytes(&self.file)?);
        let missing = announced.checked_sub(bytes).filter(|missing| *missing > 0)?;
        let [missing, announced] = [missing, announced].map(|bytes| thousands(bytes as f64));
        Some(format!("Of its {announced} bytes the last {missing} are missing."))
    }

    /// Returns true for a WebP with several pictures: FFmpeg's decoder finds no picture in such a file (5.1 to 7.1).
    pub(crate) fn is_animated_webp(&self) -> bool {
        // The container specification of WebP, "Extended File Format": the flags follow the chunk's size.
        let mut start = [0; 21];
        self.file.read_exact_at(&mut start, 0).is_ok()
            && (&start[..4], &start[8..16], start[20] & 2) == (b"RIFF".as_slice(), b"WEBPVP8X".as_slice(), 2)
    }

    /// Opens the file of a URL that FFmpeg requests. Returns an `errno` value if the file must not or cannot be opened.
    fn open_reference(&self, url: &[u8]) -> Result<Arc<File>, c_int> {
        let refuse = |errno: c_int| {
            let mut refused = self.refused.lock();
            refused.get_or_insert_with(|| RefusedFile {
                url: text::name(OsStr::from_bytes(url)),
                is_endless: errno == libc::ELOOP,
            });
            errno
        };
        let own = url == self.url.as_bytes();
        if !own && self.read_control.policy().references == References::Refused {
            return Err(refuse(libc::EPERM));
        }
        // The movie's own file counts too: a playlist may contain itself.
        let opened =
            self.open_requests.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |opened| match opened {
                u32::MAX => Some(opened),
                opened => (opened < MAX_OPEN_REQUESTS).then_some(opened + 1),
            });
        if opened.is_err() {
            self.read_control.abandon();
            return Err(refuse(libc::ELOOP));
        }
        if own {
            return Ok(self.file.clone());
        }
        let path = OsStr::from_bytes(url.strip_prefix(b"file:").unwrap_or(url));
        let file = load::open(Path::new(path)).or_else(|failure| match failure {
            // URLs that FFmpeg made of a name have no escapes; those in a playlist may have some.
            OpenError::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                load::open(&address::path_of(OsStr::from_bytes(url)))
            }
            failure => Err(failure),
        });
        file.map(Arc::new).map_err(|failure| {
            refuse(match failure {
                OpenError::NotRegular(kind) if kind.is_dir() => libc::EISDIR,
                OpenError::NotRegular(_) => libc::EPERM,
                OpenError::Io(error) => error.raw_os_error().unwrap_or(libc::EIO),
            })
        })
    }
}

/// A file that FFmpeg asked to open and was refused.
#[derive(Clone)]
pub(super) struct RefusedFile {
    pub url: String,
    /// True if the file was refused because FFmpeg had opened [`MAX_OPEN_REQUESTS`] files already.
    pub is_endless: bool,
}

/// Returns the error to show to the user for a movie whose file could not be opened.
fn open_error(path: &Path, failure: &OpenError) -> Error {
    let (why, hint) = match failure {
        OpenError::NotRegular(kind) if kind.is_dir() => {
            ("It is a folder.".to_owned(), "Name a movie file in it.")
        }
        OpenError::NotRegular(_) => (
            "It is a pipe, a socket or a device, and a movie is read more than once.".to_owned(),
            "Save it to a file and open that.",
        ),
        OpenError::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            address::explain_missing_file(path)
                .unwrap_or_else(|| ("There is no such file.".to_owned(), "Check the name and the folder."))
        }
        OpenError::Io(error) => (format!("{error}."), "Check the name and the permissions."),
    };
    cannot_open(path, why, hint)
}

/// An owned I/O context of FFmpeg that reads a file.
pub(super) struct IoContext(*mut ffi::AVIOContext);

// SAFETY: the context and its reader are owned, and tied to no thread.
unsafe impl Send for IoContext {}

/// The file and position behind an I/O context.
struct Reader {
    file: Arc<File>,
    offset: i64,
    read_control: ReadControl,
}

impl IoContext {
    /// Returns a context at the beginning of `file`, with a read position independent of other contexts; `None` when memory has run
    /// out.
    pub(crate) fn new(file: Arc<File>, read_control: &ReadControl) -> Option<Self> {
        let reader = Box::into_raw(Box::new(Reader { file, offset: 0, read_control: read_control.clone() }));
        // SAFETY: the buffer comes from FFmpeg's allocator, as avio_alloc_context requires. Reader and buffer go to the
        // context, or are freed here.
        unsafe {
            let buffer = ffi::av_malloc(BUFFER_BYTES);
            if !buffer.is_null() {
                let context = ffi::avio_alloc_context(
                    buffer.cast(),
                    BUFFER_BYTES as c_int,
                    0,
                    reader.cast(),
                    Some(read),
                    None,
                    Some(seek),
                );
                if !context.is_null() {
                    return Some(Self(context));
                }
                ffi::av_free(buffer);
            }
            drop(Box::from_raw(reader));
        }
        None
    }

    /// Returns the context, which stays owned by `self`.
    pub(crate) fn as_ptr(&self) -> *mut ffi::AVIOContext {
        self.0
    }
}

impl Drop for IoContext {
    fn drop(&mut self) {
        // SAFETY: the context is one of `IoContext::new`, which is no longer in use. FFmpeg may have replaced its buffer.
        unsafe {
            drop(Box::from_raw((*self.0).opaque.cast::<Reader>()));
            ffi::av_freep((&raw mut (*self.0).buffer).cast());
            ffi::avio_context_free(&mut self.0);
        }
    }
}

/// Callback of FFmpeg that reads up to `size` bytes.
unsafe extern "C" fn read(opaque: *mut c_void, to: *mut u8, size: c_int) -> c_int {
    // SAFETY: FFmpeg passes the reader of `IoContext::new`, from one thread at a time.
    let reader = unsafe { &mut *opaque.cast::<Reader>() };
    loop {
        if reader.read_control.must_stop() {
            return ffi::AVERROR_EXIT;
        }
        // SAFETY: FFmpeg's buffer holds `size` bytes.
        let count = unsafe {
            libc::pread(reader.file.as_raw_fd(), to.cast(), size.max(0) as usize, reader.offset as _)
        };
        if count > 0 {
            reader.offset = reader.offset.saturating_add(count as i64);
            reader.read_control.note_progress();
            return count as c_int;
        }
        if count == 0 {
            return ffi::AVERROR_EOF;
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => {}
            errno => return -errno.unwrap_or(libc::EIO),
        }
    }
}

/// Callback of FFmpeg that seeks, or returns the file's size.
unsafe extern "C" fn seek(opaque: *mut c_void, offset: i64, whence: c_int) -> i64 {
    // SAFETY: as for `read`.
    let reader = unsafe { &mut *opaque.cast::<Reader>() };
    let size = reader.file.metadata().map_or(-1, |meta| i64::try_from(meta.len()).unwrap_or(i64::MAX));
    let from = match whence & !(ffi::AVSEEK_FORCE as c_int) {
        libc::SEEK_SET => 0,
        libc::SEEK_CUR => reader.offset,
        libc::SEEK_END if size >= 0 => size,
        whence if whence == ffi::AVSEEK_SIZE as c_int && size >= 0 => return size,
        _ => return i64::from(-libc::EINVAL),
    };
    match from.checked_add(offset).filter(|at| *at >= 0) {
        Some(at) => {
            reader.offset = at;
            at
        }
        None => i64::from(-libc::EINVAL),
    }
}

/// Callback of FFmpeg that opens a URL: that of the movie itself, or of a file that it refers to.
pub(super) unsafe extern "C" fn open(
    context: *mut ffi::AVFormatContext,
    io: *mut *mut ffi::AVIOContext,
    url: *const c_char,
    flags: c_int,
    _options: *mut *mut ffi::AVDictionary,
) -> c_int {
    // SAFETY: the context's `opaque` is the `FileAccess`, which outlives it, or null in contexts that FFmpeg makes inside of
    // it. The URL is a C string, and `io` is valid for the result.
    unsafe {
        *io = ptr::null_mut();
        let Some(access) = (*context).opaque.cast::<FileAccess>().as_ref() else { return -libc::EPERM };
        if flags & ffi::AVIO_FLAG_WRITE as c_int != 0 || url.is_null() {
            return -libc::EPERM;
        }
        let file = access.open_reference(CStr::from_ptr(url).to_bytes());
        match file.and_then(|file| IoContext::new(file, &access.read_control).ok_or(libc::ENOMEM)) {
            Ok(opened) => {
                *io = opened.0;
                // FFmpeg owns the context until `close`.
                std::mem::forget(opened);
                0
            }
            Err(errno) => -errno,
        }
    }
}

/// Callback of FFmpeg that closes an I/O context of [`open`].
pub(super) unsafe extern "C" fn close(_: *mut ffi::AVFormatContext, io: *mut ffi::AVIOContext) -> c_int {
    if !io.is_null() {
        drop(IoContext(io));
    }
    0
}
