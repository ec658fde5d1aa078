//! How finely the army is drawn. In: what draws, and how many figures there are. Out: triangles, shaders, and the size of shadows.
//!
//! Where a processor draws (Mesa's llvmpipe), triangles of a pixel or two and a filtered shadow take most of a picture's time, and are
//! hardly seen. A graphics card draws all of them.

use ladders::cloth::model::Figure;

/// How finely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Every triangle.
    Fine,
    /// What is small has fewer.
    Coarse,
}

/// The triangles of a figure, of its shirt and of its body.
pub(super) struct Meshes {
    pub picture: [Vec<u32>; 2],
    /// Those that throw the shadow, where they are others.
    pub shadow: Option<[Vec<u32>; 2]>,
}

impl Detail {
    /// What suits this OpenGL. The context must be current.
    pub(super) fn of(gl: &glow::Context) -> Self {
        if opengl::renderer::is_software(gl) { Self::Coarse } else { Self::Fine }
    }

    /// Width and height of the light's picture.
    pub(super) fn shadow_size(self) -> i32 {
        match self {
            Self::Fine => 1024,
            Self::Coarse => 512,
        }
    }

    /// How often a pixel looks into it.
    fn taps(self) -> u32 {
        match self {
            Self::Fine => 4,
            Self::Coarse => 1,
        }
    }

    /// The shaders that draw what `kind` is the number of, the vertices' and the pixels', in the light's picture or beside it: the name
    /// and the source of each.
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
        let taps = if may_be_shaded { self.taps() } else { 0 };
        files.map(|(name, source)| (name, format!("#define KIND {kind}\n#define TAPS {taps}\n{source}")))
    }

    /// What is drawn of each of `count` figures: the more, the smaller they are.
    pub(super) fn meshes(self, figure: &Figure, count: usize) -> Meshes {
        let thinned = |shirt: usize, rows: usize, columns: usize| {
            [figure.shirt.thinned(shirt), figure.body.thinned(rows, columns)]
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
