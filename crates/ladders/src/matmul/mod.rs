//! The matrix multiplication ladder: `c = a b` for `f32`, with an m×k matrix `a` and a k×n matrix `b`. There are 2mnk
//! operations on mk + kn + mn numbers, so it measures how often a number is used once it has been read.
//!
//! Results depend on the order of additions, which each variant chooses. They are compared with sums in double precision,
//! within a [bound](reference::bound) that grows with k. An empty sum is 0 of either sign.

mod blocks;
mod codes;
mod inputs;
pub mod reference;
pub mod shape;
mod work;

use serde_json::json;

use compute::plan::Lens;
use ladder::arrays::ArrayLadder;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, LadderInfo};

use reference::{ProductElements, reference};
use shape::Shape;

/// The matrix multiplication ladder.
pub static MATMUL: ArrayLadder<Shape> = ArrayLadder {
    info: LadderInfo {
        name: "matmul",
        peaks: &[PeakKernel { name: "multiply-adds alone", note: None, computes: true }],
        peak_file: codes::PEAK.file,
        inputs: inputs::INPUT_NAMES,
        options: &["mnk"],
        sizes: &[
            "128,128,128",
            "256,256,256",
            "512,512,512",
            "1024,1024,1024",
            "4096,16,1024",
            "2048,2048,2048",
        ],
        ..LadderInfo::DEFAULT
    },
    variants: &codes::VARIANTS,
    peak: codes::peak,
    cases: |sizes| sizes.cases("mnk", [1024; 3], Shape::new),
    describe: |shape| CaseInfo {
        title: shape.title(),
        json: json!(shape),
        class: shape.class(),
        operations: 2.0 * shape.multiplications() as f64,
        // Inputs on host and device, and packed; the output on host and device, the expected output, first in double
        // precision, the bytes before a run, and those that are read.
        memory: 4 * (3 * (shape.left_len() + shape.right_len()) + 8 * shape.product_len()),
        ..CaseInfo::default()
    },
    // Sizes below, at and above the sides of tiles and vectors, thin matrices, an empty sum; one, two and three numbers in the
    // last vector of a sum; a column more than 9 panels of 48, which are more than one work-item of `panels` multiplies.
    small: &[
        Shape { m: 65, n: 130, k: 37 },
        Shape { m: 1, n: 1, k: 1 },
        Shape { m: 3, n: 5, k: 0 },
        Shape { m: 2, n: 3, k: 2 },
        Shape { m: 16, n: 16, k: 16 },
        Shape { m: 17, n: 33, k: 11 },
        Shape { m: 1, n: 67, k: 40 },
        Shape { m: 70, n: 1, k: 33 },
        Shape { m: 64, n: 128, k: 8 },
        Shape { m: 5, n: 300, k: 6 },
        Shape { m: 259, n: 12, k: 20 },
        Shape { m: 129, n: 132, k: 4 },
        Shape { m: 3, n: 433, k: 5 },
    ],
    smaller: Shape::smaller,
    // The packed matrices are as large as the inputs.
    lens: |shape| {
        let inputs = vec![shape.left_len(), shape.right_len()];
        Lens { scratch: inputs.clone(), inputs, output: shape.product_len() }
    },
    fill: |shape, input, matrices| {
        if let [a, b] = matrices {
            inputs::fill(input, shape, a, b);
        }
    },
    expected: |shape, input, matrices| {
        let elements = ProductElements::new(input, shape, matrices);
        Ok(Expected::new(reference(shape, matrices)?, elements))
    },
    unit: "number",
};
