//! Finds places for the panels that the user has not moved, for the banners and for a message, so that none covers another.

use egui::{Align, Align2, Rect, Vec2, pos2, vec2};

use super::theme;

/// A panel's request for a place in the room, the area of the window that is available for panels.
#[derive(Debug, Clone, Copy)]
pub(super) struct DockRequest {
    /// The requested size in points.
    pub size: Vec2,
    /// The least size in points in which the panel can be read; its contents scroll.
    pub min_size: Vec2,
    /// The height in points to which the panel grows in its place, as far as there is room.
    pub height: f32,
    /// The corner of the room next to which the panel is placed.
    pub corner: Align2,
}

/// Selects the panels that get only their least height, so that there is room for all panels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShrinkMode {
    /// No panel: each gets the requested size.
    None,
    /// All panels except the newest.
    Older,
    /// All panels, but the newest is somewhat higher, so that its most important contents are visible.
    Half,
    /// All panels, including the newest.
    All,
}

/// The places that [`arrange`] has found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DockedPlaces {
    /// The rectangles of the panels, in the order of the requests.
    pub panels: Vec<Rect>,
    /// The rectangle of the banners; `None` if there are none.
    pub banners: Option<Rect>,
    /// The rectangle for a short message, kept free so that nothing moves when a message appears.
    pub message: Rect,
}

/// The width in points in which a sentence is easy to read, for banners.
const SENTENCE_WIDTH: f32 = 360.0;
/// The greatest width in points of banners.
const MAX_BANNERS_WIDTH: f32 = 640.0;
/// The least size in points in which banners can be read.
const MIN_BANNERS_SIZE: Vec2 = vec2(280.0, 60.0);
/// The least size in points in which a message can be read.
const MIN_MESSAGE_SIZE: Vec2 = vec2(180.0, 26.0);
/// The greatest size in points of a message, which has two lines.
const MAX_MESSAGE_SIZE: Vec2 = vec2(720.0, 42.0);
/// The greatest height in points of the newest panel with [`ShrinkMode::Half`].
const MAX_HALF_HEIGHT: f32 = 220.0;
/// The least distance between two panels in points. It is less than [`theme::GAP`], so that rounding does not make
/// neighbours overlap.
const PANEL_DISTANCE: f32 = theme::GAP - 0.01;

/// The free part of a room, as the set of all maximal empty rectangles (Jukka Jylänki, "A Thousand Ways to Pack the Bin",
/// 2010).
struct FreeSpace {
    room: Rect,
    empty: Vec<Rect>,
}

impl FreeSpace {
    /// Creates the free space of `room` outside the rectangles `taken`.
    fn new(room: Rect, taken: &[Rect]) -> Self {
        let mut free = Self { room, empty: vec![room] };
        taken.iter().for_each(|rect| free.take(*rect));
        free
    }

    /// Removes `rect`, with a gap around it, from the free part.
    fn take(&mut self, rect: Rect) {
        let taken = rect.expand(PANEL_DISTANCE);
        let mut empty = Vec::new();
        for free in &self.empty {
            if !free.intersects(taken) {
                empty.push(*free);
                continue;
            }
            let parts = [
                free.with_max_x(taken.left()),
                free.with_min_x(taken.right()),
                free.with_max_y(taken.top()),
                free.with_min_y(taken.bottom()),
            ];
            empty.extend(parts.into_iter().filter(|part| part.width() >= 1.0 && part.height() >= 1.0));
        }
        self.empty.clear();
        for (n, rect) in empty.iter().enumerate() {
            let holds = |m: usize, other: &Rect| other.contains_rect(*rect) && (other != rect || m < n);
            if !empty.iter().enumerate().any(|(m, other)| m != n && holds(m, other)) {
                self.empty.push(*rect);
            }
        }
    }

    /// Finds the free place of this size that is nearest to the corner of the room, removes it from the free part, and
    /// returns it. Returns `None` if there is no such place.
    fn place(&mut self, size: Vec2, corner: Align2) -> Option<Rect> {
        let best = corner.align_size_within_rect(size, self.room).min;
        let within = |free: &Rect| {
            let inside = |at: f32, least: f32, most: f32| at.min(most).max(least);
            let x = inside(best.x, free.left(), free.right() - size.x);
            Rect::from_min_size(pos2(x, inside(best.y, free.top(), free.bottom() - size.y)), size)
        };
        let fits = |free: &&Rect| free.width() + 0.5 >= size.x && free.height() + 0.5 >= size.y;
        let places = self.empty.iter().filter(fits).map(within);
        let place = places.min_by(|a, b| (a.min - best).length().total_cmp(&(b.min - best).length()))?;
        self.take(place);
        Some(place)
    }

    /// Places the banners, which have this height, removes their place from the free part, and returns it. It is the right end
    /// of the uppermost free rectangle that is wide enough to read a sentence, or a narrower one if no other is free. Returns
    /// `None` if there is no room.
    fn place_banners(&mut self, height: f32) -> Option<Rect> {
        let least = MIN_BANNERS_SIZE.min(self.room.size());
        let fits = |free: &&Rect| free.width() >= least.x && free.height() >= least.y.min(height);
        let rank = |free: &Rect| (free.width() < SENTENCE_WIDTH, free.top(), -free.width());
        let ordered = |a: &&Rect, b: &&Rect| {
            let (a, b) = (rank(a), rank(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2))
        };
        let free = *self.empty.iter().filter(fits).min_by(ordered)?;
        // Leave room for a message if possible.
        let most = free.height() - MIN_MESSAGE_SIZE.y - theme::GAP;
        let most = if most >= least.y { most } else { free.height() };
        let size = vec2(free.width().min(MAX_BANNERS_WIDTH), most.min(height));
        let rect = Align2::RIGHT_TOP.align_size_within_rect(size, free);
        self.take(rect);
        Some(rect)
    }

    /// Returns the place for a short message: in the lowest free rectangle, centred in the room if possible. Returns `None`
    /// if there is no room.
    fn message_place(&self) -> Option<Rect> {
        let least = MIN_MESSAGE_SIZE.min(self.room.size());
        let fits = |free: &&Rect| free.width() >= least.x && free.height() >= least.y;
        let ordered =
            |a: &&Rect, b: &&Rect| a.bottom().total_cmp(&b.bottom()).then(a.width().total_cmp(&b.width()));
        let free = *self.empty.iter().filter(fits).max_by(ordered)?;
        let size = MAX_MESSAGE_SIZE.min(free.size());
        let left = (self.room.center().x - size.x / 2.0).min(free.right() - size.x).max(free.left());
        Some(Rect::from_min_size(pos2(left, free.bottom() - size.y), size))
    }
}

/// Places panels in `room` outside the rectangles `taken`, in the order of `requests`, the oldest panel first, and then
/// banners of the height `banners`, if there are any. `shrink` selects the panels that get only their least height. Returns
/// `None` if there is no room for everything.
pub(super) fn arrange(
    room: Rect,
    taken: &[Rect],
    requests: &[DockRequest],
    shrink: ShrinkMode,
    banners: Option<f32>,
) -> Option<DockedPlaces> {
    let mut free = FreeSpace::new(room, taken);
    let mut panels = Vec::with_capacity(requests.len());
    for (n, request) in requests.iter().enumerate() {
        let is_last = n + 1 == requests.len();
        let low = match shrink {
            ShrinkMode::Half if is_last => Some(request.size.y.min(MAX_HALF_HEIGHT)),
            ShrinkMode::All => Some(request.min_size.y),
            ShrinkMode::Older | ShrinkMode::Half if !is_last => Some(request.min_size.y),
            _ => None,
        };
        let place = match low {
            None => free.place(request.size, request.corner),
            Some(height) => {
                // A panel that is wider than the room is cut.
                let narrow = vec2(request.min_size.x.min(room.width()), height);
                let low = free.place(vec2(request.size.x, height), request.corner);
                low.or_else(|| free.place(narrow, request.corner))
            }
        };
        panels.push(place?);
    }
    let banners = match banners {
        Some(height) => Some(free.place_banners(height)?),
        None => None,
    };
    let message = free.message_place()?;
    for n in (0..panels.len()).rev() {
        let others = panels.iter().enumerate().filter(|(m, _)| *m != n).map(|(_, rect)| *rect);
        let others = others.chain(taken.iter().copied()).chain(banners).chain([message]);
        panels[n] = grow(panels[n], &requests[n], room, others);
    }
    Some(DockedPlaces { panels, banners, message })
}

/// Returns the panel's rectangle `rect`, extended to the requested height as far as the room and the rectangles `others`
/// allow. The edge at the requested corner stays in place.
fn grow(rect: Rect, request: &DockRequest, room: Rect, others: impl Iterator<Item = Rect>) -> Rect {
    let (mut top, mut bottom) = (room.top(), room.bottom());
    let reach = rect.expand2(vec2(PANEL_DISTANCE, 0.0));
    for other in others.filter(|other| other.left() < reach.right() && other.right() > reach.left()) {
        if other.top() >= rect.bottom() - 0.5 {
            bottom = bottom.min(other.top() - PANEL_DISTANCE);
        } else if other.bottom() <= rect.top() + 0.5 {
            top = top.max(other.bottom() + PANEL_DISTANCE);
        }
    }
    match request.corner.y() {
        Align::Max => rect.with_min_y((rect.bottom() - request.height).max(top)),
        _ => rect.with_max_y((rect.top() + request.height).min(bottom)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(width: f32, height: f32, least: f32, corner: Align2) -> DockRequest {
        DockRequest { size: vec2(width, height), min_size: vec2(width, least), height, corner }
    }

    fn apart(rects: &[Rect]) -> bool {
        let beside = |n: usize, rect: &Rect| {
            rects[..n].iter().all(|other| !other.expand(theme::GAP - 0.5).intersects(*rect))
        };
        rects.iter().enumerate().all(|(n, rect)| beside(n, rect))
    }

    /// Returns all maximal empty rectangles of `room`, which keep their distance from the rectangles `taken`, by trying
    /// each pair of edges.
    fn largest(room: Rect, taken: &[Rect]) -> Vec<Rect> {
        let taken: Vec<Rect> = taken.iter().map(|rect| rect.expand(PANEL_DISTANCE)).collect();
        let across = taken.iter().flat_map(|rect| [rect.left(), rect.right()]);
        let across: Vec<f32> = across.chain([room.left(), room.right()]).collect();
        let down = taken.iter().flat_map(|rect| [rect.top(), rect.bottom()]);
        let down: Vec<f32> = down.chain([room.top(), room.bottom()]).collect();
        let corners = || across.iter().flat_map(|x| down.iter().map(move |y| pos2(*x, *y)));
        let corners: Vec<_> = corners().filter(|at| room.contains(*at)).collect();
        let reaches = |rect: &Rect, into: &Rect| {
            let shared = rect.intersect(*into);
            shared.width() > 0.0 && shared.height() > 0.0
        };
        let mut empty: Vec<Rect> = Vec::new();
        for from in &corners {
            for to in &corners {
                let rect = Rect::from_min_max(*from, *to);
                let is_empty = !taken.iter().any(|into| reaches(&rect, into));
                if is_empty && rect.width() >= 1.0 && rect.height() >= 1.0 && !empty.contains(&rect) {
                    empty.push(rect);
                }
            }
        }
        let all = empty.clone();
        empty.retain(|rect| all.iter().all(|other| other == rect || !other.contains_rect(*rect)));
        empty
    }

    #[test]
    fn all_that_is_left_is_found_and_nothing_that_is_taken() {
        let room = Rect::from_min_size(pos2(8.0, 8.0), vec2(600.0, 400.0));
        let mut random = 1_u32;
        let mut number = |below: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((random >> 16) % below * 20) as f32
        };
        let sorted = |mut rects: Vec<Rect>| {
            rects
                .sort_by_key(|rect| [rect.left(), rect.top(), rect.right(), rect.bottom()].map(f32::to_bits));
            rects
        };
        // The corner of the last rectangle touches a corner of the space that the others leave.
        let diagonal = [(300.0, 20.0), (20.0, 300.0), (300.0, 300.0)];
        let diagonal = diagonal.map(|(x, y)| Rect::from_min_size(pos2(x, y), vec2(60.0, 60.0)));
        assert_eq!(sorted(FreeSpace::new(room, &diagonal).empty), sorted(largest(room, &diagonal)));
        let mut found = 0;
        for case in 0..60 {
            // Some reach out of the room, some lie over others, some are there twice.
            let mut one = || {
                let (at, size) = (pos2(number(32) - 10.0, number(22) - 10.0), vec2(number(12), number(10)));
                Rect::from_min_size(at, size + vec2(10.0, 10.0))
            };
            let mut taken: Vec<Rect> = (0..case % 5).map(|_| one()).collect();
            taken.extend(taken.first().copied().filter(|_| case % 2 == 0));
            let free = FreeSpace::new(room, &taken);
            found += free.empty.len();
            assert_eq!(sorted(free.empty), sorted(largest(room, &taken)), "{taken:?}");
        }
        assert!(found > 200, "{found}");
    }

    #[test]
    fn panels_banners_and_a_message_lie_beside_each_other() {
        let requests = [
            request(300.0, 158.0, 158.0, Align2::RIGHT_BOTTOM),
            request(460.0, 190.0, 120.0, Align2::RIGHT_BOTTOM),
            request(430.0, 200.0, 90.0, Align2::LEFT_BOTTOM),
            request(420.0, 284.0, 90.0, Align2::RIGHT_TOP),
        ];
        let taken = [Rect::from_min_size(pos2(8.0, 8.0), vec2(388.0, 190.0))];
        let mut placed = 0;
        for (width, height) in
            [(500.0, 514.0), (516.0, 700.0), (800.0, 400.0), (1300.0, 600.0), (2000.0, 900.0)]
        {
            let room = Rect::from_min_size(pos2(8.0, 8.0), vec2(width, height));
            for count in 0..=requests.len() {
                for shrink in [ShrinkMode::None, ShrinkMode::Older, ShrinkMode::Half, ShrinkMode::All] {
                    for banners in [None, Some(70.0), Some(400.0)] {
                        let Some(docks) = arrange(room, &taken, &requests[..count], shrink, banners) else {
                            continue;
                        };
                        placed += count;
                        let all = docks.panels.iter().copied().chain(docks.banners).chain([docks.message]);
                        let all: Vec<Rect> = all.chain(taken).collect();
                        assert!(apart(&all), "{all:?} in {room}");
                        assert!(all.iter().all(|rect| room.expand(0.5).contains_rect(*rect)));
                        for (rect, request) in docks.panels.iter().zip(&requests) {
                            assert!(
                                rect.height() > request.min_size.y - 0.1
                                    && rect.height() < request.size.y + 0.1
                            );
                        }
                    }
                }
            }
        }
        assert!(placed > 200, "{placed}");
    }

    #[test]
    fn alone_a_panel_is_as_large_as_it_likes_in_its_corner() {
        let room = Rect::from_min_size(pos2(8.0, 8.0), vec2(900.0, 400.0));
        for corner in [Align2::LEFT_TOP, Align2::RIGHT_TOP, Align2::LEFT_BOTTOM, Align2::RIGHT_BOTTOM] {
            let request = request(300.0, 200.0, 100.0, corner);
            let docks = arrange(room, &[], &[request], ShrinkMode::None, None).unwrap();
            assert_eq!(docks.panels, [corner.align_size_within_rect(request.size, room)]);
            // Placed with less, it grows to the same.
            let docks = arrange(room, &[], &[request], ShrinkMode::All, None).unwrap();
            assert_eq!(docks.panels, [corner.align_size_within_rect(request.size, room)]);
            // Its corner stays when its contents become less.
            let less = DockRequest { height: 120.0, ..request };
            let docks = arrange(room, &[], &[less], ShrinkMode::None, None).unwrap();
            let size = vec2(300.0, 120.0);
            assert_eq!(docks.panels, [corner.align_size_within_rect(size, room)]);
        }
    }

    #[test]
    fn where_there_is_no_room_there_is_no_place() {
        let low = Rect::from_min_size(pos2(8.0, 8.0), vec2(480.0, 120.0));
        let request = request(300.0, 200.0, 100.0, Align2::LEFT_TOP);
        assert_eq!(arrange(low, &[], &[request], ShrinkMode::None, None), None);
        // No room for a message; then for that, and for nothing else.
        assert!(arrange(low, &[], &[request], ShrinkMode::All, None).is_none());
        let wide = Rect::from_min_size(pos2(8.0, 8.0), vec2(560.0, 120.0));
        assert!(arrange(wide, &[], &[request], ShrinkMode::All, None).is_some());
        assert!(arrange(wide, &[], &[request, request], ShrinkMode::All, None).is_none());
        assert!(arrange(wide, &[], &[request], ShrinkMode::All, Some(110.0)).is_none());
    }
}
