//! Tests of right files, and of damaged ones.

use crate::*;
use std::path::Path;

#[test]
fn the_box_filter_is_described() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/box_filter");
    let filter = folder::read(&folder).unwrap_or_else(|mistakes| panic!("{}", list(&mistakes)));
    println!("{filter:?}");
}

fn list(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(|mistake| format!("{mistake}\n")).collect()
}
