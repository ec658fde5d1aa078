//! Sets the cfg `ffmpeg_8_0` if FFmpeg has version 8.0 or a newer one.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(ffmpeg_8_0)");
    // From the build script of ffmpeg-sys-next.
    if std::env::var("DEP_FFMPEG_FFMPEG_8_0").is_ok_and(|is_set| is_set == "true") {
        println!("cargo:rustc-cfg=ffmpeg_8_0");
    }
}
