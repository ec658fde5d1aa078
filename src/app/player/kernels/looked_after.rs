//! What the window does about kernels that are edited: it has them judged, says what came of it, wipes and copies them. In: what
//! has changed, what the user asks for. Out: kernels that filter the next frame, and sentences.

use super::refusals::is_told;
use super::*;
use base::numbers::thousands;
use box_filter::color_kernels::Converter;
use box_filter::tuned::parts_of_auto;
use ladder::cache::Cache;

impl Player<'_> {
    /// Takes what was saved and what came of it, and has it judged.
    pub(in crate::app::player) fn look_after_kernels(&mut self) {
        let (mut is_new, live) = (false, &mut self.kernels);
        while let Some(news) = live.watching.as_ref().and_then(Watching::poll) {
            is_new = true;
            match news {
                News::Read { sources, asked, is_built } => live.read(sources, asked, is_built),
                News::Unreadable(error) => live.shown.problem = Some(error),
                News::Slow(error) => live.shown.slow = error,
            }
        }
        if let Some(copied) = live.copying.as_ref().and_then(|job| job.wait(Duration::ZERO)) {
            (is_new, live.copying) = (true, None);
            let watched = copied.and_then(|folder| {
                self.overlay.say(format!("Kernels to edit: {}", base::text::name(&folder)));
                live.watch(&folder, &self.waker)
            });
            if let Err(error) = watched {
                self.notify(error, false);
            }
        }
        for opinion in self.devices.take_opinions() {
            is_new = true;
            match self.kernels.note(opinion) {
                Some((Subject::Variant(VariantId::Version), verdict)) => self.wipe_is_ready(verdict),
                Some((subject, verdict)) => self.say_of_kernels(subject, verdict),
                None => {}
            }
        }
        if is_new || self.kernels.watching.is_none() {
            self.look_after_own();
        }
        self.kernels.is_on(self.frames.devices(), self.devices.begun());
        self.judge_kernels();
        for over in self.kernels.refusals.take_over() {
            self.notices.hide_all(|told| is_told(told, &over));
            self.repaints.with_next();
        }
        let (chosen, radius) = self.frames.chosen();
        let size = self.frames.shown_size();
        let score = self.frames.recorder.scores().of(chosen).filter(|score| score.n >= ENOUGH);
        let score = score.filter(|score| size.is_some_and(|size| score.is_at(radius, size))).copied();
        if let Some(score) = score {
            let (size, beside) = (score.size, score.beside);
            let of = Circumstances { variant: chosen, radius, size, beside };
            self.kernels.time(of, Median { ms: score.ms, n: score.n, noise: score.noise });
        }
        let is_open = self.overlay.open[Panel::Kernels as usize];
        if is_open {
            let kind = self.devices.info().map_or(DeviceKind::Cpu, |info| info.kind);
            // What `auto` is has a source, too.
            let auto = size.filter(|_| chosen == VariantId::Auto);
            let auto = auto.and_then(|size| self.frames.auto(size, radius)).unwrap_or_default();
            let named = auto.split(' ').next().and_then(|name| name.parse().ok());
            self.kernels.source(named.unwrap_or(chosen), kind);
        }
        if is_open && self.overlay.machine_code {
            self.ask_for_machine_code();
        }
        if is_new || is_open {
            self.kernels.refresh(chosen, radius, size, self.frames.recorder.wiped_with());
        }
        if is_new {
            self.repaints.with_next();
        }
    }

    /// Lets the user's own kernel come and go with its file.
    fn look_after_own(&mut self) {
        let live = &mut self.kernels;
        if live.watching.is_some() && live.kept.is_empty() && live.shown.problem.is_none() {
            // It is being read.
            return;
        }
        let has_own = live.has_own();
        if !has_own {
            live.running.remove(&Subject::Variant(VariantId::Own));
            live.asked.remove(&Subject::Variant(VariantId::Own));
            live.refusals.end(|subject, _| subject == Subject::Variant(VariantId::Own));
        }
        self.devices.has_own(has_own);
        if has_own {
            self.notices.hide(&no_own());
            return;
        }
        if self.frames.chosen().0 == VariantId::Own {
            self.with_devices(Devices::without_filter);
            self.notify(no_own(), true);
        }
        if self.frames.other().is_some_and(|(other, _)| other == VariantId::Own) {
            self.frames.end_wipe(no_own());
        }
    }

    /// Has the current version judged where that waits, if the device's side is here.
    pub(in crate::app::player) fn judge_kernels(&mut self) {
        let Some(asked) = self.kernels.waits.filter(|_| self.devices.can_judge()) else { return };
        if self.kernels.came_late() {
            self.notices.hide_all(sources::is_unreadable);
            self.with_devices(Devices::build_for_running);
            // Nothing was judged yet that would have to be once more.
            self.kernels.is_on(self.frames.devices(), self.devices.begun());
        }
        let (Some(frame), Some(info)) = (self.frames.shown_frame(), self.devices.info()) else { return };
        let ((chosen, radius), kind) = (self.frames.chosen(), info.kind);
        let parts = parts_of_auto(&Cache::load(), info);
        let variants = self.kernels.changed(chosen, kind, &parts, asked);
        self.devices.begin_judging(self.kernels.current, &variants);
        // The builder may be about to begin anew: it would judge for the device that it is at.
        if self.frames.is_pipeline_awaited() {
            return;
        }
        // Which conversions run is known to the device's side, which may be away for a moment.
        let Some(pipeline) = self.frames.pipeline_mut() else { return };
        let layout = Converter::supports(&frame.picture);
        let wanted = layout.map_or_else(Vec::new, |layout| pipeline.conversions_of(&layout));
        self.kernels.waits = None;
        let when_chosen = self.kernels.is_tried_when_chosen(kind, wanted.iter().map(|(.., file)| *file));
        let files: Vec<&str> = wanted.iter().map(|(.., file)| *file).collect();
        let conversions: Vec<_> = wanted
            .into_iter()
            .filter(|(.., file)| self.kernels.changes_conversion(file, asked))
            .map(|(layout, storage, _)| (layout, storage))
            .collect();
        let current = self.kernels.current;
        self.kernels.asks(&variants, !conversions.is_empty());
        self.kernels.end_refusals(kind, &files);
        let Some(kept) = self.kernels.version_mut(current) else { return };
        let left = variants.len() + usize::from(!conversions.is_empty());
        kept.untried = match left {
            0 if when_chosen => Untried::WhenChosen,
            0 if kept.lost_own() => Untried::OwnGone,
            left => Untried::Now(left),
        };
        if left > 0 {
            let sources = kept.sources.clone();
            self.devices.judge(Judge {
                version: current,
                sources,
                variants,
                conversions,
                frame,
                radius,
                is_beside: false,
            });
        }
        self.repaints.with_next();
    }

    /// Asks for what the device runs for the chosen variant, where that is not what is shown.
    fn ask_for_machine_code(&mut self) {
        let (variant, radius) = self.frames.chosen();
        let Some(size) = self.frames.shown_size().filter(|_| self.devices.can_judge()) else { return };
        let layout = self.frames.shown_frame().and_then(|frame| Converter::supports(&frame.picture));
        let wide = layout.is_some_and(|layout| layout.wide);
        let Some(device) = self.devices.info().map(|info| info.index) else { return };
        let live = &mut self.kernels;
        let runs = live.runs(Subject::Variant(variant));
        // Which code runs does not change with every step of the radius.
        let radius = if variant == VariantId::Auto { radius } else { 0 };
        let pictures = Pictures { size, radius, wide };
        let of = (runs.map_or(0, |kept| kept.number), variant, pictures, device);
        if live.code_of == Some(of) {
            return;
        }
        let sources = runs.map(|kept| kept.sources.clone());
        (live.code_of, live.shown.machine_code) = (Some(of), None);
        self.devices.ask_for_machine_code(Asm { version: of.0, sources, variant, pictures });
    }

    /// Says what came of the chosen variant, or of the conversion, where the panel does not.
    fn say_of_kernels(&mut self, subject: Subject, verdict: Verdict) {
        if ![Subject::Conversion, Subject::Variant(self.frames.chosen().0)].contains(&subject) {
            return;
        }
        let is_open = self.overlay.visible && self.overlay.open[Panel::Kernels as usize];
        match verdict {
            Verdict::Exact => self.overlay.say(format!("{subject}: exact")),
            Verdict::Differs(report) => {
                let count = thousands(report.count as f64);
                self.overlay.say(format!("{subject} differs in {count} bytes"));
            }
            Verdict::Refused(error) if !is_open => self.notify(error, true),
            Verdict::Refused(_) => {}
        }
    }

    /// The button, and F5.
    pub(in crate::app::player) fn rebuild_kernels(&mut self) {
        match &self.kernels.watching {
            Some(watching) => watching.rebuild(),
            None => self.overlay.say("No folder of kernels is watched: key e".to_owned()),
        }
    }

    /// The button.
    pub(in crate::app::player) fn copy_kernels(&mut self) {
        let failed = "The kernels could not be copied.";
        match Job::spawn("copy", failed, &self.waker, |_| copy()) {
            Ok(job) => self.kernels.copying = Some(job),
            Err(error) => self.notify(error, false),
        }
    }

    /// Has a version's kernels of the chosen variant built, to wipe them against those that run.
    pub(in crate::app::player) fn wipe_kernels(&mut self, number: u64) {
        let ((variant, radius), device) = (self.frames.chosen(), self.devices.info().map(|info| info.index));
        let frame = self.frames.shown_frame().filter(|_| self.devices.can_judge() && self.movies.is_movie());
        let kept = self.kernels.version(number);
        let (Some(frame), Some(kept), Some(device)) = (frame, kept, device) else { return };
        if variant.kernels().is_none() {
            self.overlay.say(format!("'{variant}' has no kernels on RGBA pictures to wipe."));
            return;
        }
        let (sources, variants) = (kept.sources.clone(), vec![variant]);
        let conversions = Vec::new();
        let is_beside = true;
        self.devices.judge(Judge {
            version: number,
            sources,
            variants,
            conversions,
            frame,
            radius,
            is_beside,
        });
        (self.kernels.beside_of, self.kernels.beside_on) = (Some(variant), Some(device));
    }

    /// Begins the wipe that was asked for, or says why there is none.
    fn wipe_is_ready(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Refused(error) => self.notify(error, true),
            Verdict::Exact | Verdict::Differs(_) => {
                let (chosen, radius) = self.frames.chosen();
                self.frames.set_former(self.kernels.beside_of.unwrap_or(chosen), radius);
                self.repaints.soon();
            }
        }
    }

    /// Ends a wipe of two versions on a device that was left.
    pub(in crate::app::player) fn look_after_versions(&mut self) {
        let is_here =
            self.kernels.beside_on.is_some_and(|on| self.devices.info().is_some_and(|i| i.index == on));
        let is_wiped = self.frames.other().is_some_and(|(other, _)| other == VariantId::Version);
        if is_wiped && !is_here {
            self.frames.set_other(None);
        }
    }

    /// Goes back to a version.
    pub(in crate::app::player) fn use_kernels(&mut self, number: u64) {
        self.kernels.use_version(number, false);
    }
}
