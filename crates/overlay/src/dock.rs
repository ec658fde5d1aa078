//! Where panels lie that were not moved: none over another. In: a room, what lies in it already, and what each would like to
//! have. Out: a rectangle for each, for banners and for a message; or nothing where they cannot all be read in that room.

use egui::{Align, Align2, Rect, Vec2, pos2, vec2};

use super::theme;

/// What a panel would like to have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    /// The size that it is placed by.
    pub size: Vec2,
    /// The least of that it can be read in: the rest scrolls.
    pub least: Vec2,
    /// The height that it takes in the end, as far as there is room.
    pub height: f32,
    /// The corner of the room that it lies nearest to.
    pub corner: Align2,
}

/// Who has to do with the least, so that all find room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Narrow {
    /// Nobody.
    Nobody,
    /// All but the last.
    Older,
    /// The last has room for its most important contents, the others the least.
    Half,
    /// Each of them.
    All,
}

/// Where everything lies.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Docks {
    /// The panels, as they were asked for.
    pub panels: Vec<Rect>,
    /// The banners, if there are any.
    pub banners: Option<Rect>,
    /// A message, whether or not there is one: nothing moves when one comes.
    pub message: Rect,
}

/// Width that a sentence can be read in, and the most that banners take.
const SENTENCE: f32 = 360.0;
const WIDEST: f32 = 640.0;
/// The least that banners and messages can be read in, and the most that a message takes: two lines.
const LEAST_BANNERS: Vec2 = vec2(280.0, 60.0);
const LEAST_MESSAGE: Vec2 = vec2(180.0, 26.0);
const MESSAGE: Vec2 = vec2(720.0, 42.0);
/// The height that a panel has in [`Narrow::Half`], unless it is lower.
const HALF: f32 = 220.0;
/// Between two of them; rounding must not make neighbours touch.
const APART: f32 = theme::GAP - 0.01;

/// The empty part of a room: all rectangles in it that no other empty one contains. (Jukka Jylänki, "A Thousand Ways to Pack
/// the Bin", 2010: maximal rectangles.)
struct Free {
    room: Rect,
    empty: Vec<Rect>,
}

impl Free {
    fn new(room: Rect, taken: &[Rect]) -> Self {
        let mut free = Self { room, empty: vec![room] };
        taken.iter().for_each(|rect| free.take(*rect));
        free
    }

    /// Leaves `rect` and a gap round it out.
    fn take(&mut self, rect: Rect) {
        let taken = rect.expand(APART);
        let mut empty = Vec::new();
        for of in &self.empty {
            if !of.intersects(taken) {
                empty.push(*of);
                continue;
            }
            let parts = [
                of.with_max_x(taken.left()),
                of.with_min_x(taken.right()),
                of.with_max_y(taken.top()),
                of.with_min_y(taken.bottom()),
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

    /// Takes a place of this size: the one that is nearest to the corner of the room.
    fn place(&mut self, size: Vec2, corner: Align2) -> Option<Rect> {
        let best = corner.align_size_within_rect(size, self.room).min;
        let within = |of: &Rect| {
            let inside = |at: f32, least: f32, most: f32| at.min(most).max(least);
            let x = inside(best.x, of.left(), of.right() - size.x);
            Rect::from_min_size(pos2(x, inside(best.y, of.top(), of.bottom() - size.y)), size)
        };
        let fits = |of: &&Rect| of.width() + 0.5 >= size.x && of.height() + 0.5 >= size.y;
        let places = self.empty.iter().filter(fits).map(within);
        let place = places.min_by(|a, b| (a.min - best).length().total_cmp(&(b.min - best).length()))?;
        self.take(place);
        Some(place)
    }

    /// Takes room for banners: as high as can be where a sentence can be read, at the right.
    fn banners(&mut self, height: f32) -> Option<Rect> {
        let least = LEAST_BANNERS.min(self.room.size());
        let fits = |of: &&Rect| of.width() >= least.x && of.height() >= least.y.min(height);
        let rank = |of: &Rect| (of.width() < SENTENCE, of.top(), -of.width());
        let ordered = |a: &&Rect, b: &&Rect| {
            let (a, b) = (rank(a), rank(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2))
        };
        let of = *self.empty.iter().filter(fits).min_by(ordered)?;
        // They leave room for a message where they can.
        let most = of.height() - LEAST_MESSAGE.y - theme::GAP;
        let most = if most >= least.y { most } else { of.height() };
        let size = vec2(of.width().min(WIDEST), most.min(height));
        let rect = Align2::RIGHT_TOP.align_size_within_rect(size, of);
        self.take(rect);
        Some(rect)
    }

    /// Room for a message: as low as can be, in the middle.
    fn message(&self) -> Option<Rect> {
        let least = LEAST_MESSAGE.min(self.room.size());
        let fits = |of: &&Rect| of.width() >= least.x && of.height() >= least.y;
        let ordered =
            |a: &&Rect, b: &&Rect| a.bottom().total_cmp(&b.bottom()).then(a.width().total_cmp(&b.width()));
        let of = *self.empty.iter().filter(fits).max_by(ordered)?;
        let size = MESSAGE.min(of.size());
        let left = (self.room.center().x - size.x / 2.0).min(of.right() - size.x).max(of.left());
        Some(Rect::from_min_size(pos2(left, of.bottom() - size.y), size))
    }
}

/// The panels in `room` beside what is `taken` of it, the oldest first; with banners of this height, if there are any.
pub(super) fn arrange(
    room: Rect,
    taken: &[Rect],
    wishes: &[Wish],
    narrow: Narrow,
    banners: Option<f32>,
) -> Option<Docks> {
    let mut free = Free::new(room, taken);
    let mut panels = Vec::with_capacity(wishes.len());
    for (n, wish) in wishes.iter().enumerate() {
        let is_last = n + 1 == wishes.len();
        let low = match narrow {
            Narrow::Half if is_last => Some(wish.size.y.min(HALF)),
            Narrow::All => Some(wish.least.y),
            Narrow::Older | Narrow::Half if !is_last => Some(wish.least.y),
            _ => None,
        };
        let place = match low {
            None => free.place(wish.size, wish.corner),
            Some(height) => {
                // What is wider than the room is cut.
                let narrow = vec2(wish.least.x.min(room.width()), height);
                let low = free.place(vec2(wish.size.x, height), wish.corner);
                low.or_else(|| free.place(narrow, wish.corner))
            }
        };
        panels.push(place?);
    }
    let banners = match banners {
        Some(height) => Some(free.banners(height)?),
        None => None,
    };
    let message = free.message()?;
    for n in (0..panels.len()).rev() {
        let others = panels.iter().enumerate().filter(|(m, _)| *m != n).map(|(_, rect)| *rect);
        let others = others.chain(taken.iter().copied()).chain(banners).chain([message]);
        panels[n] = grown(panels[n], &wishes[n], room, others);
    }
    Some(Docks { panels, banners, message })
}

/// `rect` in the height that it would like to have, as far as `others` let it; its upper or its lower edge stays.
fn grown(rect: Rect, wish: &Wish, room: Rect, others: impl Iterator<Item = Rect>) -> Rect {
    let (mut top, mut bottom) = (room.top(), room.bottom());
    let reach = rect.expand2(vec2(APART, 0.0));
    for other in others.filter(|other| other.left() < reach.right() && other.right() > reach.left()) {
        if other.top() >= rect.bottom() - 0.5 {
            bottom = bottom.min(other.top() - APART);
        } else if other.bottom() <= rect.top() + 0.5 {
            top = top.max(other.bottom() + APART);
        }
    }
    match wish.corner.y() {
        Align::Max => rect.with_min_y((rect.bottom() - wish.height).max(top)),
        _ => rect.with_max_y((rect.top() + wish.height).min(bottom)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(width: f32, height: f32, least: f32, corner: Align2) -> Wish {
        Wish { size: vec2(width, height), least: vec2(width, least), height, corner }
    }

    fn apart(rects: &[Rect]) -> bool {
        let beside = |n: usize, rect: &Rect| {
            rects[..n].iter().all(|other| !other.expand(theme::GAP - 0.5).intersects(*rect))
        };
        rects.iter().enumerate().all(|(n, rect)| beside(n, rect))
    }

    /// All that is empty, by trying each pair of edges: the rectangles that no other empty one contains.
    fn largest(room: Rect, taken: &[Rect]) -> Vec<Rect> {
        let taken: Vec<Rect> = taken.iter().map(|rect| rect.expand(APART)).collect();
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
        // The corner of the last one touches that of what the others leave.
        let diagonal = [(300.0, 20.0), (20.0, 300.0), (300.0, 300.0)];
        let diagonal = diagonal.map(|(x, y)| Rect::from_min_size(pos2(x, y), vec2(60.0, 60.0)));
        assert_eq!(sorted(Free::new(room, &diagonal).empty), sorted(largest(room, &diagonal)));
        let mut found = 0;
        for case in 0..60 {
            // Some reach out of the room, some lie over others, some are there twice.
            let mut one = || {
                let (at, size) = (pos2(number(32) - 10.0, number(22) - 10.0), vec2(number(12), number(10)));
                Rect::from_min_size(at, size + vec2(10.0, 10.0))
            };
            let mut taken: Vec<Rect> = (0..case % 5).map(|_| one()).collect();
            taken.extend(taken.first().copied().filter(|_| case % 2 == 0));
            let free = Free::new(room, &taken);
            found += free.empty.len();
            assert_eq!(sorted(free.empty), sorted(largest(room, &taken)), "{taken:?}");
        }
        assert!(found > 200, "{found}");
    }

    #[test]
    fn panels_banners_and_a_message_lie_beside_each_other() {
        let wishes = [
            wish(300.0, 158.0, 158.0, Align2::RIGHT_BOTTOM),
            wish(460.0, 190.0, 120.0, Align2::RIGHT_BOTTOM),
            wish(430.0, 200.0, 90.0, Align2::LEFT_BOTTOM),
            wish(420.0, 284.0, 90.0, Align2::RIGHT_TOP),
        ];
        let taken = [Rect::from_min_size(pos2(8.0, 8.0), vec2(388.0, 190.0))];
        let mut placed = 0;
        for (width, height) in
            [(500.0, 514.0), (516.0, 700.0), (800.0, 400.0), (1300.0, 600.0), (2000.0, 900.0)]
        {
            let room = Rect::from_min_size(pos2(8.0, 8.0), vec2(width, height));
            for count in 0..=wishes.len() {
                for narrow in [Narrow::Nobody, Narrow::Older, Narrow::Half, Narrow::All] {
                    for banners in [None, Some(70.0), Some(400.0)] {
                        let Some(docks) = arrange(room, &taken, &wishes[..count], narrow, banners) else {
                            continue;
                        };
                        placed += count;
                        let all = docks.panels.iter().copied().chain(docks.banners).chain([docks.message]);
                        let all: Vec<Rect> = all.chain(taken).collect();
                        assert!(apart(&all), "{all:?} in {room}");
                        assert!(all.iter().all(|rect| room.expand(0.5).contains_rect(*rect)));
                        for (rect, wish) in docks.panels.iter().zip(&wishes) {
                            assert!(rect.height() > wish.least.y - 0.1 && rect.height() < wish.size.y + 0.1);
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
            let wish = wish(300.0, 200.0, 100.0, corner);
            let docks = arrange(room, &[], &[wish], Narrow::Nobody, None).unwrap();
            assert_eq!(docks.panels, [corner.align_size_within_rect(wish.size, room)]);
            // Placed with less, it grows to the same.
            let docks = arrange(room, &[], &[wish], Narrow::All, None).unwrap();
            assert_eq!(docks.panels, [corner.align_size_within_rect(wish.size, room)]);
            // Its corner stays when its contents become less.
            let less = Wish { height: 120.0, ..wish };
            let docks = arrange(room, &[], &[less], Narrow::Nobody, None).unwrap();
            let size = vec2(300.0, 120.0);
            assert_eq!(docks.panels, [corner.align_size_within_rect(size, room)]);
        }
    }

    #[test]
    fn where_there_is_no_room_there_is_no_place() {
        let low = Rect::from_min_size(pos2(8.0, 8.0), vec2(480.0, 120.0));
        let wish = wish(300.0, 200.0, 100.0, Align2::LEFT_TOP);
        assert_eq!(arrange(low, &[], &[wish], Narrow::Nobody, None), None);
        // No room for a message; then for that, and for nothing else.
        assert!(arrange(low, &[], &[wish], Narrow::All, None).is_none());
        let wide = Rect::from_min_size(pos2(8.0, 8.0), vec2(560.0, 120.0));
        assert!(arrange(wide, &[], &[wish], Narrow::All, None).is_some());
        assert!(arrange(wide, &[], &[wish, wish], Narrow::All, None).is_none());
        assert!(arrange(wide, &[], &[wish], Narrow::All, Some(110.0)).is_none());
    }
}
