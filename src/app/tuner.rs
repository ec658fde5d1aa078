//! A search for the fastest variant, as a [job in the background](GatedJob); its result is stored in the cache of tuning results.

use std::time::{Duration, Instant};

use crate::app::gated_job::{Gate, GatedJob};
use crate::app::kernels::CurrentSources;
use base::error::Result;
use base::jobs::{Reporter, Waker};
use base::timing::log::{self, Event, Track};
use box_filter::tuned::{self, Search, Trial};
use box_filter::{BoxFilter, Code, Config, VariantId};
use ladder::cache::{self, Cache};
use ladder::runner::{LadderRunner, cache_class};
use ladder::trial::Child;
use ladder::tune::{self, InitialConfigs, SearchObserver};
use opencl::cl::Device;

/// The environment variable that names the variants to search, separated by commas.
const VARIABLE: &str = "CLREEL_TUNE_VARIANTS";

/// Returns the variants that a search tries: those named by `CLREEL_TUNE_VARIANTS`, else all that can be the fastest.
pub(crate) fn variants() -> Vec<VariantId> {
    named_variants(&base::environment::text(VARIABLE).unwrap_or_default())
}

/// Returns the variants whose names are in a list separated by commas; all if none of them can be searched.
fn named_variants(names: &str) -> Vec<VariantId> {
    let named: Vec<VariantId> = names.split(',').filter_map(|name| name.trim().parse().ok()).collect();
    let known: Vec<_> = tuned::variants().into_iter().filter(|id| named.contains(id)).collect();
    if known.is_empty() { tuned::variants() } else { known }
}

/// Returns the kernels of these variants that a search tries for pictures of this size, with their initial configurations.
pub(crate) fn initial_configs(
    variants: &[VariantId],
    device: &Device,
    size: (u32, u32),
) -> InitialConfigs<Code> {
    let ladder = BoxFilter::on_noise(size);
    let mut configs = tune::initial_configs(&ladder, &device.info, &ladder.case(0));
    configs.retain(|(variant, _)| variants.iter().any(|id| id.as_str() == *variant));
    configs
}

/// The parameters of a search.
pub(crate) struct SearchRequest {
    pub device: Device,
    pub sources: CurrentSources,
    /// Width and height of the pictures in pixels.
    pub size: (u32, u32),
    /// The radius in pixels.
    pub radius: u32,
    pub variants: Vec<VariantId>,
    /// The user's timeout for a step of the validation of edited kernels.
    pub kernel_timeout: Option<Duration>,
}

/// A progress message of a search: the next trial and the trials that have ended.
pub(crate) struct Progress {
    /// The variant and configuration that is tried next.
    pub next: String,
    /// The results of trials since the last message.
    pub trials: Vec<Trial>,
}

/// The window's handle of a running search, whose result is `None` if it was cancelled.
pub(crate) type Tuner = GatedJob<Option<Search>, Progress>;

/// Starts a search, which waits until the device is free ([`GatedJob::set_open`]).
///
/// # Errors
/// If the system cannot start a thread.
pub(crate) fn start(request: SearchRequest, waker: &Waker) -> Result<Tuner> {
    let failed = "Nothing can be tuned in the background.";
    GatedJob::spawn("tuner", failed, waker, move |reporter, gate| tune(&request, gate, reporter))
}

/// The observer of a search: reports its progress, and makes it wait at the gate.
struct SearchWatch<'a> {
    reporter: &'a Reporter<Option<Search>, Progress>,
    gate: &'a Gate,
    /// Number of trials that were reported so far.
    reported: usize,
}

impl SearchObserver<Code> for SearchWatch<'_> {
    /// Reports to the window which trial is next, and the trials that have ended.
    fn begin_trial(&mut self, variant: &'static str, config: &Config, trials: &[Trial]) {
        let new = trials.get(self.reported..).unwrap_or_default().to_vec();
        self.reported = trials.len();
        let next = || format!("{variant} {config}");
        log::record(|| [Event::instant(Track::of_thread(), "next", Instant::now()).with(next())]);
        self.reporter.report(Progress { next: next(), trials: new });
    }

    /// Waits until the search may use the device; returns false if the search is cancelled.
    fn may_continue(&mut self) -> bool {
        self.gate.pass(&self.reporter.canceller())
    }
}

/// Runs the search and stores its result in the cache; returns `None` if the search was cancelled.
fn tune(
    request: &SearchRequest,
    gate: &Gate,
    reporter: &Reporter<Option<Search>, Progress>,
) -> Result<Option<Search>> {
    // The context and the reference picture need the device or the processor, too.
    if !gate.pass(&reporter.canceller()) {
        return Ok(None);
    }
    cache::require_writable()?;
    let ladder = BoxFilter::on_noise(request.size);
    let case = ladder.case(request.radius);
    let mut child = Child::new(BoxFilter::INFO.name, request.kernel_timeout);
    let runner = LadderRunner::new(&ladder, Some(&request.device), request.sources.get(), &mut child);
    let mut watch = SearchWatch { reporter, gate, reported: 0 };
    let began = Instant::now();
    let configs = initial_configs(&request.variants, &request.device, request.size);
    let found = tune::search(&runner, &case, configs, &mut watch);
    log::record(|| [Event::since("search", began)]);
    let found = found?;
    if let Some(search) = &found {
        let mut cache = Cache::load();
        cache.put(search.entries(&request.device.info, &cache_class(&ladder, &case))?);
        cache.store()?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_narrows_the_search_down() {
        assert_eq!(named_variants("flat, fused"), [VariantId::Fused, VariantId::Flat]);
        assert_eq!(named_variants("flat,nonsense"), [VariantId::Flat]);
        for nothing in ["", "nonsense", "off"] {
            assert_eq!(named_variants(nothing), tuned::variants());
        }
    }
}
