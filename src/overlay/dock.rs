//! Where panels lie that were not moved: beside each other, and none over another. In: the room, and what each would like
//! to have. Out: a rectangle for each, or nothing where they cannot all be read in that room.

use egui::{Rect, Vec2, pos2};

use super::theme;

/// What a panel would like to have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    /// Its size.
    pub size: Vec2,
    /// The least of that it can be read in: the rest scrolls.
    pub least: Vec2,
    /// At the top; else at the bottom.
    pub top: bool,
    /// At the right; else at the left.
    pub right: bool,
}

/// The panels in `room`: those for the bottom in rows from there, as many beside each other as there is room for, those for
/// the top in rows of their own. Where they are too high together, those give way that can.
pub(super) fn arrange(room: Rect, wishes: &[Wish]) -> Option<Vec<Rect>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let width = |n: usize| wishes[n].size.x.min(room.width());
    for (n, wish) in wishes.iter().enumerate() {
        if width(n) < wish.least.x {
            return None;
        }
        let together = |row: &[usize]| row.iter().map(|other| width(*other) + theme::GAP).sum::<f32>();
        let fits = |row: &&mut Vec<usize>| {
            row.iter().all(|other| wishes[*other].top == wish.top) && together(row) + width(n) <= room.width()
        };
        match rows.last_mut().filter(fits) {
            Some(row) => row.push(n),
            None => rows.push(vec![n]),
        }
    }
    let mut heights: Vec<f32> = wishes.iter().map(|wish| wish.size.y).collect();
    let of_row = |heights: &[f32], row: &[usize]| row.iter().map(|n| heights[*n]).fold(0.0, f32::max);
    for row in rows.iter().rev() {
        let all = rows.iter().map(|row| of_row(&heights, row) + theme::GAP).sum::<f32>() - theme::GAP;
        let most = of_row(&heights, row) - (all - room.height()).max(0.0);
        for n in row {
            heights[*n] = heights[*n].min(most.max(wishes[*n].least.y));
        }
    }
    let all = rows.iter().map(|row| of_row(&heights, row) + theme::GAP).sum::<f32>() - theme::GAP;
    if all > room.height() + 0.5 {
        return None;
    }
    let mut rects = vec![Rect::NOTHING; wishes.len()];
    let (mut top, mut bottom) = (room.top(), room.bottom());
    for row in &rows {
        let (mut left, mut right) = (room.left(), room.right());
        let height = of_row(&heights, row);
        for &n in row {
            let (size, wish) = (egui::vec2(width(n), heights[n]), wishes[n]);
            let x = if wish.right { right - size.x } else { left };
            let y = if wish.top { top } else { bottom - size.y };
            match wish.right {
                true => right = x - theme::GAP,
                false => left = x + size.x + theme::GAP,
            }
            rects[n] = Rect::from_min_size(pos2(x, y), size);
        }
        match row.first().is_some_and(|n| wishes[*n].top) {
            true => top += height + theme::GAP,
            false => bottom -= height + theme::GAP,
        }
    }
    Some(rects)
}

#[cfg(test)]
mod tests {
    use egui::vec2;

    use super::*;

    #[test]
    fn panels_lie_beside_each_other() {
        let wish = |w, h, least, top, right| Wish { size: vec2(w, h), least: vec2(w, least), top, right };
        let wishes = [
            wish(300.0, 158.0, 158.0, false, true),
            wish(460.0, 190.0, 120.0, false, true),
            wish(430.0, 200.0, 90.0, false, false),
            wish(420.0, 284.0, 90.0, true, true),
        ];
        let mut placed = 0;
        for (width, height) in
            [(516.0, 514.0), (516.0, 700.0), (800.0, 400.0), (1300.0, 600.0), (2000.0, 900.0)]
        {
            let room = Rect::from_min_size(pos2(404.0, 8.0), vec2(width, height));
            for count in 1..=wishes.len() {
                let rects = arrange(room, &wishes[..count]).unwrap_or_else(|| panic!("{count} in {room}"));
                for (n, rect) in rects.iter().enumerate() {
                    placed += 1;
                    assert!(room.expand(0.5).contains_rect(*rect), "{n} of {count} at {rect} in {room}");
                    assert!(rect.height() >= wishes[n].least.y && rect.width() == wishes[n].size.x);
                    let beside = |other: &Rect| !other.expand(theme::GAP - 0.5).intersects(*rect);
                    assert!(rects[..n].iter().all(beside), "{n} of {count}: {rects:?} in {room}");
                }
            }
            // Alone, each is as large as it likes, in its corner.
            for wish in wishes.iter().filter(|wish| wish.size.y <= height) {
                let rect = arrange(room, &[*wish]).unwrap()[0];
                assert_eq!(rect.size(), wish.size);
                assert_eq!((rect.top() == room.top(), rect.right() == room.right()), (wish.top, wish.right));
            }
        }
        assert!(placed > 40);
        let small = Rect::from_min_size(pos2(0.0, 0.0), vec2(516.0, 300.0));
        assert!(arrange(small, &wishes).is_none() && arrange(small, &wishes[..1]).is_some());
        let narrow = Rect::from_min_size(pos2(0.0, 0.0), vec2(290.0, 900.0));
        assert!(arrange(narrow, &wishes[..1]).is_none());
    }
}
