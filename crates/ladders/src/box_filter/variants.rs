//! The variants of the box filter, or of a folder's filter, as those of a benchmark.

use parking_lot::Mutex;
use serde_json::json;

use base::threads::all_threads;
use box_filter::native::{Lanes, Threads};
use box_filter::{self as filter, Code, Filter, VariantId};
use compute::BackEnd;
use compute::variant::{Variant, Work};

/// A variant that runs without OpenCL.
#[derive(Debug, Clone, Copy)]
pub enum NonClVariant {
    /// Fragment shaders in OpenGL.
    Shaders,
    /// The filter in Rust, on this number of threads.
    Threads(Threads),
}

/// Variants that are benchmarked; they are never freed.
type Variants = &'static [Variant<Code, NonClVariant>];

/// The variants of each filter so far, with the first variant of the filter, which identifies it.
static KNOWN: Mutex<Vec<(VariantId, Variants)>> = Mutex::new(Vec::new());

/// Returns all variants of a filter that can be benchmarked. Those of the box filter are the ones of its table, the user's own, and
/// the filter in Rust on one thread and on all threads, scalar and vectorised.
pub fn variants(filter: &'static Filter) -> Variants {
    let key = filter.variants().next().unwrap_or(VariantId::OFF);
    let mut known = KNOWN.lock();
    if let Some((_, variants)) = known.iter().find(|(of, _)| *of == key) {
        return variants;
    }
    let in_table = |id: VariantId| Some(with_work(id, work(id)?));
    let variants: Vec<_> = match filter.is_box() {
        false => filter.variants().filter_map(in_table).collect(),
        true => {
            let own = VariantId::built_in().chain([VariantId::own()]);
            own.filter_map(in_table).chain(in_rust()).collect()
        }
    };
    let variants: Variants = variants.leak();
    known.push((key, variants));
    variants
}

/// Returns the variant of a benchmark with this id; `None` if it has nothing to time.
pub fn variant(id: VariantId) -> Option<&'static Variant<Code, NonClVariant>> {
    variants(id.filter()).iter().find(|known| known.id == id.name)
}

/// Returns the filter in Rust on one thread and on all threads, scalar and vectorised.
fn in_rust() -> impl Iterator<Item = Variant<Code, NonClVariant>> {
    let threads = if all_threads() > 1 { vec![1, all_threads()] } else { vec![1] };
    let native = VariantId::built_in().find(|id| id.back_end() == BackEnd::Native).unwrap_or(VariantId::OFF);
    threads.into_iter().flat_map(move |count| {
        [Lanes::Plain, Lanes::Vector].map(|lanes| {
            let vectors = lanes == Lanes::Vector;
            let name = format!("native, {count} × {}", if vectors { "vectors" } else { "plain" });
            let json = json!({ "threads": count, "vectors": vectors });
            with_work(native, Work::ExtraHost(NonClVariant::Threads(Threads { count, lanes }), name, json))
        })
    })
}

/// Returns a variant of the filter as one of the benchmark.
fn with_work(id: VariantId, work: Work<Code, NonClVariant>) -> Variant<Code, NonClVariant> {
    Variant { id: id.name, title: id.title, idea: id.idea, work }
}

/// Returns the implementation of a variant; `None` if it has nothing to time.
fn work(id: VariantId) -> Option<Work<Code, NonClVariant>> {
    Some(match id.work {
        filter::Work::Kernels(codes) => Work::Kernels(codes),
        filter::Work::Fastest(untuned) => Work::Fastest(Some(untuned)),
        filter::Work::Shaders => Work::Shaders(NonClVariant::Shaders),
        filter::Work::Threads => {
            Work::Host(NonClVariant::Threads(Threads { count: all_threads(), lanes: Lanes::Vector }))
        }
        filter::Work::Nothing => return None,
    })
}
