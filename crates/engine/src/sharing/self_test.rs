//! The test at start-up that OpenCL and OpenGL share a texture: two of the [cases](super::cases), on one texture.

use super::GlAccess;
use super::cases::{Case, Direction, Format, Order, Outcome, with_objects};
use opencl::cl::ClContext;

/// The size of the texture: odd, so that rows have gaps if the driver aligns them.
const SIZE: (u32, u32) = (67, 35);

/// Tests that a texture is shared in both directions.
///
/// # Errors
/// If the test fails: one sentence without its full stop that says what went wrong.
pub(super) fn run(cl: &ClContext, gl: &GlAccess) -> Result<(), String> {
    let mut names = ("", "");
    let format = Format::Rgba8;
    let outcome = with_objects(cl, gl, (format, &[SIZE]), 1, |objects| {
        let cases = [(Direction::ToGl, "OpenCL", "OpenGL"), (Direction::ToCl, "OpenGL", "OpenCL")];
        cases.into_iter().try_for_each(|(direction, writer, reader)| {
            names = (writer, reader);
            Case { format, direction, order: Order::Finish }.exchange(cl, gl, objects)
        })
    });
    let (writer, reader) = names;
    match outcome {
        Outcome::Ok => Ok(()),
        Outcome::Wrong { .. } => {
            Err(format!("what {writer} wrote into a texture did not reach {reader} in a test"))
        }
        Outcome::Unsupported(why) | Outcome::Failed(why) => Err(why),
    }
}
