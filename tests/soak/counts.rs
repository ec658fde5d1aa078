//! Counts of a process at rest: OpenCL and OpenGL objects, as the tests' layer and `tests/gl_watch` count them, threads, handles,
//! child processes, and memory.

use std::fmt::Write as _;
use std::path::Path;

/// The numbers in the file of the OpenCL layer, in their order.
const OPENCL: [&str; 6] = ["contexts", "queues", "memory", "programs", "kernels", "events"];
/// The numbers in the file of OpenGL, in their order.
const OPENGL: [&str; 10] = [
    "textures",
    "buffers",
    "framebuffers",
    "renderbuffers",
    "vertex arrays",
    "queries",
    "samplers",
    "programs",
    "shaders",
    "fences",
];

/// Frames in flight: the picture of each may have a fence.
pub const SLOTS: i64 = 3;
/// The priority of the program's background jobs.
const JOB_PRIORITY: &str = "5";
/// PoCL's own leak for each program that it builds, in KiB.
const LEAK_PER_BUILD_KIB: i64 = 60;
/// The most memory that the program may have without PoCL's leak, in KiB.
const MOST_KIB: i64 = 600 * 1024;

/// Returns the numbers in the file that a library of this name has mapped for a process; none before it has.
fn tally(folder: &Path, name: &str, pid: u32) -> Vec<i64> {
    let bytes = std::fs::read(folder.join(format!("{name}.{pid}"))).unwrap_or_default();
    bytes.as_chunks::<8>().0.iter().map(|number| i64::from_ne_bytes(*number)).collect()
}

/// Returns the number of pictures that the window of this process has shown.
pub fn pictures(folder: &Path, pid: u32) -> i64 {
    tally(folder, "opengl", pid).get(OPENGL.len()).copied().unwrap_or(0)
}

/// Returns the number that stands at the place of `name` in `names`.
fn number(names: &[&str], numbers: &[i64], name: &str) -> i64 {
    names.iter().position(|other| *other == name).map_or(0, |at| numbers[at])
}

/// The objects, threads, handles and children of a process.
#[derive(Default)]
pub struct Counts {
    opencl: Vec<i64>,
    opengl: Vec<i64>,
    /// The names of its threads, sorted.
    threads: Vec<String>,
    /// The number of threads with the priority of background jobs.
    pub jobs: usize,
    /// The targets of its handles, sorted.
    handles: Vec<String>,
    /// The commands of its child processes, sorted.
    children: Vec<String>,
    resident_kib: i64,
    builds: i64,
}

impl Counts {
    /// Reads the counts of a process; the libraries write theirs to `folder`.
    pub fn read(folder: &Path, pid: u32) -> Self {
        let mut opencl = tally(folder, "opencl", pid);
        let builds = opencl.split_off(OPENCL.len())[0];
        let mut opengl = tally(folder, "opengl", pid);
        assert!(opengl.len() > OPENGL.len(), "OpenGL's objects are not counted: {opengl:?}");
        opengl.truncate(OPENGL.len());
        let process = Path::new("/proc").join(pid.to_string());
        // Threads and handles may end while they are listed.
        let list = |name: &str, read: &dyn Fn(&Path) -> Option<String>| {
            let entries = std::fs::read_dir(process.join(name)).into_iter().flatten().flatten();
            let mut list: Vec<String> = entries.filter_map(|entry| read(&entry.path())).collect();
            list.sort();
            list
        };
        let threads =
            list("task", &|path| Some(std::fs::read_to_string(path.join("comm")).ok()?.trim().to_owned()));
        let is_job = |path: &Path| {
            let stat = std::fs::read_to_string(path.join("stat")).ok()?;
            let nice = stat.rsplit(") ").next()?.split(' ').nth(16)?.to_owned();
            Some(nice).filter(|nice| *nice == JOB_PRIORITY)
        };
        let jobs = list("task", &is_job).len();
        let handles = list("fd", &|path| {
            let target = std::fs::read_link(path).ok()?.to_string_lossy().into_owned();
            // Without the number of a pipe or socket.
            Some(target.split(":[").next().unwrap_or_default().to_owned())
        });
        let children = list("task", &|path| std::fs::read_to_string(path.join("children")).ok());
        let command = |pid: &str| {
            let arguments = std::fs::read(Path::new("/proc").join(pid).join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&arguments).replace('\0', " ")
        };
        let children = children.iter().flat_map(|pids| pids.split_whitespace().map(command)).collect();
        let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
        let resident =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        let resident_kib = resident.and_then(|kib| kib.trim().parse().ok()).expect("the process's memory");
        Self { opencl, opengl, threads, jobs, handles, children, resident_kib, builds }
    }

    /// Asserts that each kind of object is counted that a window with a filter has at all times: leaks of others would be missed.
    pub fn assert_counted(&self) {
        for (names, numbers, kinds) in [
            (&OPENCL[..], &self.opencl, &["contexts", "queues", "memory", "programs", "kernels"][..]),
            (&OPENGL[..], &self.opengl, &["textures", "buffers", "vertex arrays", "programs"]),
        ] {
            let uncounted: Vec<_> = kinds.iter().filter(|kind| number(names, numbers, kind) <= 0).collect();
            assert!(uncounted.is_empty(), "not counted: {uncounted:?} of {names:?}, {numbers:?}");
        }
    }

    /// Returns the number of OpenCL's kernel objects.
    pub fn kernels(&self) -> i64 {
        number(&OPENCL, &self.opencl, "kernels")
    }

    /// Returns the number of OpenGL's vertex arrays.
    pub fn vertex_arrays(&self) -> i64 {
        number(&OPENGL, &self.opengl, "vertex arrays")
    }

    /// Returns true if the audio device is open: its client has a thread with the name of the thread that opened it.
    pub fn has_audio_device(&self) -> bool {
        self.threads.iter().filter(|name| *name == "sound").count() > 1
    }

    /// Returns the resident memory without PoCL's leak, in KiB.
    fn own_kib(&self) -> i64 {
        self.resident_kib - LEAK_PER_BUILD_KIB * self.builds
    }

    /// Returns the head of the table whose rows [`Counts::row`] returns.
    pub fn header() -> String {
        "actions  OpenCL references             OpenGL objects                    threads handles children  builds  RSS MiB  \
         own MiB"
            .to_owned()
    }

    /// Returns a row of the table.
    pub fn row(&self, actions: usize) -> String {
        let words = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
        format!(
            "{actions:>7}  {:<29} {:<33} {:>7} {:>7} {:>8} {:>7} {:>8} {:>8}",
            words(&self.opencl),
            words(&self.opengl),
            self.threads.len(),
            self.handles.len(),
            self.children.len(),
            self.builds,
            self.resident_kib / 1024,
            self.own_kib() / 1024,
        )
    }

    /// Returns a line for each number that is greater than that in `first`, with the names of what was added and removed. Memory
    /// is left out, and so are the fences of frames in flight.
    pub fn excess(&self, first: &Self) -> String {
        let mut text = String::new();
        for (api, names, now, then) in [
            ("OpenCL", &OPENCL[..], &self.opencl, &first.opencl),
            ("OpenGL", &OPENGL[..], &self.opengl, &first.opengl),
        ] {
            for ((name, now), then) in names.iter().zip(now).zip(then).filter(|((_, now), then)| now > then) {
                if *name != "fences" || *now > SLOTS {
                    let _ = writeln!(text, "  {api} {name}: {now}, at first {then}");
                }
            }
        }
        for (what, now, then) in [
            ("threads", &self.threads, &first.threads),
            ("handles", &self.handles, &first.handles),
            ("children", &self.children, &first.children),
        ] {
            let (more, fewer) = (without(now, then), without(then, now));
            if now.len() > then.len() {
                let _ = writeln!(
                    text,
                    "  {what}: {}, at first {}; more: {more:?}, fewer: {fewer:?}",
                    now.len(),
                    then.len()
                );
            }
        }
        text
    }
}

/// Returns the elements of a list without those of another one, each as often as it is there.
fn without(list: &[String], other: &[String]) -> Vec<String> {
    let mut other = other.to_vec();
    let is_left = |item: &&String| match other.iter().position(|o| o == *item) {
        Some(at) => {
            other.swap_remove(at);
            false
        }
        None => true,
    };
    list.iter().filter(is_left).cloned().collect()
}

/// The memory after the first tenth of a walk.
#[derive(Default)]
pub struct Memory {
    base_kib: Option<i64>,
    /// How many times the memory was compared with that of the first tenth.
    pub comparisons: usize,
}

impl Memory {
    /// Returns true if the memory is at most a tenth greater than that of the first call of [`Memory::check`] with `is_base` true, and at
    /// most [`MOST_KIB`].
    pub fn allows(&self, counts: &Counts) -> bool {
        let own = counts.own_kib();
        own <= MOST_KIB && self.base_kib.is_none_or(|base| own * 10 <= base * 11)
    }

    /// Asserts that the memory is allowed; with `is_base` true, the first call sets the memory with which later ones are compared.
    pub fn check(&mut self, counts: &Counts, is_base: bool) {
        let (own, base) = (counts.own_kib() / 1024, self.base_kib.unwrap_or_default() / 1024);
        assert!(self.allows(counts), "{own} MiB of memory, {base} MiB after the first tenth");
        self.comparisons += usize::from(self.base_kib.is_some());
        if is_base {
            self.base_kib.get_or_insert(counts.own_kib());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plants memory that grows in a walk of two rounds, the fewest that a walk has.
    #[test]
    fn memory_that_grows_in_the_second_round_is_a_failure() {
        let at = |mib: i64| Counts { resident_kib: mib * 1024, ..Counts::default() };
        let mut memory = Memory::default();
        memory.check(&at(200), true);
        assert_eq!(memory.comparisons, 0, "one round is compared with nothing");
        memory.check(&at(219), true);
        assert_eq!(memory.comparisons, 1);
        assert!(!memory.allows(&at(221)) && !Memory::default().allows(&at(601)));
    }
}
