//! What FFmpeg may open. In: the path of a movie. Out: FFmpeg's I/O contexts, each on a regular file that is opened here.
//! FFmpeg itself opens nothing: it asks `open`, which gives it the movie's own file, and others only where references are
//! allowed.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ffmpeg_next::ffi;
use libc::{c_char, c_int, c_void};

use super::address;
use super::extent;
use super::reading::{Reading, References};
use base::error::{Error, Result};
use base::numbers::thousands;
use base::text;

/// Bytes that are read at once.
const BUFFER: usize = 32 << 10;
/// So many files are opened while a movie is being opened. A list that names itself has no end.
const MAX_REFERENCES: u32 = 256;

/// What the callbacks know about the movie. It stays where it is while FFmpeg has its address.
pub(super) struct Gate {
    url: CString,
    file: Arc<File>,
    reading: Reading,
    /// References opened while the movie is being opened; `u32::MAX` afterwards.
    opened: AtomicU32,
    /// The first file that was asked for and not opened.
    refused: Mutex<Option<Refused>>,
}

impl Gate {
    /// Opens the movie.
    ///
    /// # Errors
    /// It is not a regular file with something in it that may be read.
    pub(crate) fn new(path: &Path, reading: &Reading) -> Result<Box<Self>> {
        let fail =
            |why: &str, hint: &str| Error::new(format!("Cannot open '{}'.", text::name(path)), why, hint);
        let file = regular(path).map_err(|refusal| refusal.error(path))?;
        if file.metadata().is_ok_and(|meta| meta.len() == 0) {
            return Err(fail(
                "The file is empty.",
                "If it is still being copied, wait until it is complete.",
            ));
        }
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // The "file:" in front keeps names such as `a:b.mp4` from being read as addresses.
        let url = CString::new([b"file:", whole.as_os_str().as_bytes()].concat())
            .map_err(|_| fail("The name holds a zero byte.", "Check the name."))?;
        Ok(Box::new(Self {
            url,
            file: Arc::new(file),
            reading: reading.clone(),
            opened: AtomicU32::new(0),
            refused: Mutex::default(),
        }))
    }

    /// The movie's own address.
    pub(crate) fn url(&self) -> &CStr {
        &self.url
    }

    /// Bytes of the movie now.
    pub(crate) fn bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |meta| meta.len())
    }

    /// Its first bytes: so many, or all that it has.
    pub(crate) fn start(&self, count: usize) -> Vec<u8> {
        extent::start(&self.file, count)
    }

    /// Bytes that it has at least if nothing of it is missing, where it says so.
    pub(crate) fn announced_bytes(&self) -> Option<u64> {
        extent::announced_bytes(&self.file)
    }

    /// A sentence where it has fewer.
    pub(crate) fn missing_bytes(&self) -> Option<String> {
        let (bytes, announced) = (self.bytes(), self.announced_bytes()?);
        let missing = announced.checked_sub(bytes).filter(|missing| *missing > 0)?;
        let [missing, announced] = [missing, announced].map(|bytes| thousands(bytes as f64));
        Some(format!("Of its {announced} bytes the last {missing} are missing."))
    }

    /// How long it may take.
    pub(crate) fn reading(&self) -> &Reading {
        &self.reading
    }

    /// Reads the movie from its beginning, independently of others that do; `None` when memory has run out.
    pub(crate) fn io(&self) -> Option<Io> {
        Io::new(self.file.clone(), &self.reading)
    }

    /// Opening is over: references may be opened as they come.
    pub(crate) fn is_open(&self) {
        self.opened.store(u32::MAX, Ordering::Relaxed);
    }

    /// The first file that was asked for and not opened, if there was one.
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The file behind an address, or the number of an error.
    fn file_at(&self, url: &[u8]) -> std::result::Result<Arc<File>, c_int> {
        let refuse = |errno: c_int| {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            refused.get_or_insert_with(|| Refused {
                url: text::name(OsStr::from_bytes(url)),
                endless: errno == libc::ELOOP,
            });
            errno
        };
        let own = url == self.url.as_bytes();
        if !own && self.reading.references() == References::Refused {
            return Err(refuse(libc::EPERM));
        }
        // A list may name itself, too.
        let opened = self.opened.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |opened| match opened {
            u32::MAX => Some(opened),
            opened => (opened < MAX_REFERENCES).then_some(opened + 1),
        });
        if opened.is_err() {
            self.reading.give_up();
            return Err(refuse(libc::ELOOP));
        }
        if own {
            return Ok(self.file.clone());
        }
        let path = OsStr::from_bytes(url.strip_prefix(b"file:").unwrap_or(url));
        let file = regular(Path::new(path)).or_else(|refusal| match refusal {
            // What FFmpeg made of a name has no escapes; an address that a list has written out may.
            Refusal::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                regular(&address::path_of(OsStr::from_bytes(url)))
            }
            refusal => Err(refusal),
        });
        file.map(Arc::new).map_err(|refusal| refuse(refusal.errno()))
    }
}

/// A file that was asked for and not opened.
#[derive(Debug, Clone)]
pub(super) struct Refused {
    pub url: String,
    /// So many had been opened before that there is no end of it.
    pub endless: bool,
}

/// Why a file is not opened.
enum Refusal {
    Folder,
    /// A pipe, a socket or a device.
    NotAFile,
    Io(io::Error),
}

impl Refusal {
    fn errno(&self) -> c_int {
        match self {
            Self::Folder => libc::EISDIR,
            Self::NotAFile => libc::EPERM,
            Self::Io(error) => error.raw_os_error().unwrap_or(libc::EIO),
        }
    }

    fn error(&self, path: &Path) -> Error {
        let (why, hint) = match self {
            Self::Folder => ("It is a folder.".to_owned(), "Name a movie file in it."),
            Self::NotAFile => (
                "It is a pipe, a socket or a device, and a movie is read more than once.".to_owned(),
                "Save it to a file and open that.",
            ),
            Self::Io(error) if error.kind() == io::ErrorKind::NotFound => address::refusal(path)
                .unwrap_or_else(|| ("There is no such file.".to_owned(), "Check the name and the folder.")),
            Self::Io(error) => (format!("{error}."), "Check the name and the permissions."),
        };
        Error::new(format!("Cannot open '{}'.", text::name(path)), why, hint)
    }
}

/// Opens a regular file for reading. Opening a pipe or a device could wait for ever, or do something.
fn regular(path: &Path) -> std::result::Result<File, Refusal> {
    let check = |meta: std::fs::Metadata| match meta.file_type() {
        kind if kind.is_dir() => Err(Refusal::Folder),
        kind if kind.is_file() => Ok(()),
        _ => Err(Refusal::NotAFile),
    };
    check(std::fs::metadata(path).map_err(Refusal::Io)?)?;
    // Another file may have taken its place since: a pipe does not wait, and is seen afterwards.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(Refusal::Io)?;
    check(file.metadata().map_err(Refusal::Io)?)?;
    Ok(file)
}

/// FFmpeg's I/O context on a file.
pub(super) struct Io(*mut ffi::AVIOContext);

// SAFETY: the context and what it reads from belong to this alone, and are tied to no thread.
unsafe impl Send for Io {}

/// What an I/O context reads from.
struct Reader {
    file: Arc<File>,
    at: i64,
    reading: Reading,
}

impl Io {
    fn new(file: Arc<File>, reading: &Reading) -> Option<Self> {
        let reader = Box::into_raw(Box::new(Reader { file, at: 0, reading: reading.clone() }));
        // SAFETY: the buffer comes from FFmpeg's allocator, as it asks for. Reader and buffer go to the context, or are
        // freed here.
        unsafe {
            let buffer = ffi::av_malloc(BUFFER);
            if !buffer.is_null() {
                let context = ffi::avio_alloc_context(
                    buffer.cast(),
                    BUFFER as c_int,
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

    /// The context, which stays this one's.
    pub(crate) fn as_ptr(&self) -> *mut ffi::AVIOContext {
        self.0
    }
}

impl Drop for Io {
    fn drop(&mut self) {
        // SAFETY: the context is one of `Io::new`, and nobody uses it any more. FFmpeg may have replaced its buffer.
        unsafe {
            drop(Box::from_raw((*self.0).opaque.cast::<Reader>()));
            ffi::av_freep((&raw mut (*self.0).buffer).cast());
            ffi::avio_context_free(&mut self.0);
        }
    }
}

/// FFmpeg's request for bytes.
unsafe extern "C" fn read(opaque: *mut c_void, to: *mut u8, size: c_int) -> c_int {
    // SAFETY: FFmpeg passes on what the context was made with, from one thread at a time.
    let reader = unsafe { &mut *opaque.cast::<Reader>() };
    loop {
        if reader.reading.is_over() {
            return ffi::AVERROR_EXIT;
        }
        // SAFETY: FFmpeg gives room for `size` bytes.
        let count =
            unsafe { libc::pread(reader.file.as_raw_fd(), to.cast(), size.max(0) as usize, reader.at as _) };
        if count > 0 {
            reader.at = reader.at.saturating_add(count as i64);
            reader.reading.advance();
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

/// FFmpeg's request to go elsewhere, or for the file's size.
unsafe extern "C" fn seek(opaque: *mut c_void, offset: i64, whence: c_int) -> i64 {
    // SAFETY: as for `read`.
    let reader = unsafe { &mut *opaque.cast::<Reader>() };
    let size = reader.file.metadata().map_or(-1, |meta| i64::try_from(meta.len()).unwrap_or(i64::MAX));
    let from = match whence & !(ffi::AVSEEK_FORCE as c_int) {
        libc::SEEK_SET => 0,
        libc::SEEK_CUR => reader.at,
        libc::SEEK_END if size >= 0 => size,
        whence if whence == ffi::AVSEEK_SIZE as c_int && size >= 0 => return size,
        _ => return i64::from(-libc::EINVAL),
    };
    match from.checked_add(offset).filter(|at| *at >= 0) {
        Some(at) => {
            reader.at = at;
            at
        }
        None => i64::from(-libc::EINVAL),
    }
}

/// FFmpeg's request to open an address: that of the movie itself, or of a file that it names.
pub(super) unsafe extern "C" fn open(
    context: *mut ffi::AVFormatContext,
    io: *mut *mut ffi::AVIOContext,
    url: *const c_char,
    flags: c_int,
    _options: *mut *mut ffi::AVDictionary,
) -> c_int {
    // SAFETY: the context's `opaque` is the gate, which outlives it, or null in contexts that FFmpeg makes inside of it.
    // The address is a C string, and `io` is where FFmpeg wants the result.
    unsafe {
        *io = ptr::null_mut();
        let Some(gate) = (*context).opaque.cast::<Gate>().as_ref() else { return -libc::EPERM };
        if flags & ffi::AVIO_FLAG_WRITE as c_int != 0 || url.is_null() {
            return -libc::EPERM;
        }
        match gate.file_at(CStr::from_ptr(url).to_bytes()) {
            Ok(file) => match Io::new(file, &gate.reading) {
                Some(opened) => {
                    *io = opened.0;
                    // It is FFmpeg's until `close`.
                    std::mem::forget(opened);
                    0
                }
                None => -libc::ENOMEM,
            },
            Err(errno) => -errno,
        }
    }
}

/// FFmpeg's request to close what [`open`] gave it.
pub(super) unsafe extern "C" fn close(_: *mut ffi::AVFormatContext, io: *mut ffi::AVIOContext) -> c_int {
    if !io.is_null() {
        drop(Io(io));
    }
    0
}
