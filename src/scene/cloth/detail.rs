//! The level of detail of the figures: number of triangles, kind of shaders, and size of the shadow map.
//!
//! If OpenGL runs on the CPU (Mesa's llvmpipe), triangles of one or two pixels and filtered shadows would take most of the time
//! for a picture, and would hardly be visible. A GPU draws all of them.

use ladders::cloth::model::Figure;

/// The level of detail at which the figures are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// All triangles, for GPUs.
    Fine,
    /// Fewer triangles for small figures, for OpenGL on the CPU.
    Coarse,
}

/// The triangles with which a figure is drawn, as lists of vertex indices: one for the shirt, one for the body.
pub(super) struct Meshes {
    pub picture: [Vec<u32>; 2],
    /// The vertex indices of the triangles that cast shadows, for the shirt and for the body; `None` if these are the same
    /// triangles as in `picture`.
    pub shadow: Option<[Vec<u32>; 2]>,
}

impl Detail {
    /// Returns the level of detail that suits the current OpenGL context: coarse if OpenGL runs on the CPU, else fine.
    pub(super) fn for_renderer(gl: &glow::Context) -> Self {
        if opengl::renderer::is_software(gl) { Self::Coarse } else { Self::Fine }
    }

    /// Returns the width and height of the shadow map in pixels.
    pub(super) fn shadow_size(self) -> i32 {
        match self {
            Self::Fine => 1024,
            Self::Coarse => 512,
        }
    }

    /// Returns the number of samples of the shadow map that are averaged for each pixel.
    fn shadow_samples(self) -> u32 {
        match self {
            Self::Fine => 4,
            Self::Coarse => 1,
        }
    }

    /// Returns the name and the source of the vertex shader and of the fragment shader for a kind of object, such as the
    /// shirts; `may_be_shaded` is true if shadows may fall on it.
    pub(super) fn shaders(self, kind: usize, may_be_shaded: bool) -> [(&'static str, String); 2] {
        let files = match self {
            Self::Fine => [
                ("cloth.vert", include_str!("../../../shaders/cloth.vert")),
                ("cloth.frag", include_str!("../../../shaders/cloth.frag")),
            ],
            Self::Coarse => [
                ("cloth_coarse.vert", include_str!("../../../shaders/cloth_coarse.vert")),
                ("cloth_coarse.frag", include_str!("../../../shaders/cloth_coarse.frag")),
            ],
        };
        let taps = if may_be_shaded { self.shadow_samples() } else { 0 };
        files.map(|(name, source)| (name, format!("#define KIND {kind}\n#define TAPS {taps}\n{source}")))
    }

    /// Returns the triangles with which each of `count` figures is drawn. The more figures there are, the fewer triangles each
    /// has.
    pub(super) fn meshes(self, figure: &Figure, count: usize) -> Meshes {
        let thinned = |shirt: usize, rows: usize, columns: usize| {
            [figure.shirt.coarser_triangles(shirt), figure.body.coarser_triangles(rows, columns)]
        };
        let (picture, shadow) = match (self, count) {
            (Self::Fine, _) => (thinned(1, 1, 1), None),
            (Self::Coarse, ..=1) => (thinned(1, 1, 1), Some(thinned(2, 2, 2))),
            (Self::Coarse, ..=4) => (thinned(1, 2, 2), Some(thinned(2, 2, 2))),
            (Self::Coarse, ..=25) => (thinned(2, 3, 2), Some(thinned(4, 3, 4))),
            (Self::Coarse, _) => (thinned(4, 3, 4), Some(thinned(4, 3, 4))),
        };
        Meshes { picture, shadow }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_there_are_the_fewer_triangles_each_has() {
        let figure = Figure::new();
        let triangles = |meshes: &[Vec<u32>; 2]| (meshes[0].len() + meshes[1].len()) / 3;
        let all = triangles(&[figure.shirt.indices.clone(), figure.body.indices.clone()]);
        let mut before = usize::MAX;
        for count in [1, 4, 9, 25, 100] {
            let (fine, coarse) = (Detail::Fine.meshes(&figure, count), Detail::Coarse.meshes(&figure, count));
            assert!(triangles(&fine.picture) == all && fine.shadow.is_none(), "{count}");
            let (picture, shadow) = (triangles(&coarse.picture), triangles(&coarse.shadow.unwrap()));
            assert!(picture <= before && shadow <= picture, "{count}: {picture} triangles, shadow {shadow}");
            before = picture;
        }
        assert!(before * 8 < all, "{before} of {all}");
    }
}
