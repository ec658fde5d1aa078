//! libblur for peers.py. Requests are lines on stdin, as `examples/peer.rs` describes them; each gets a line on stdout.
//! One thread: with more, the rows where two threads meet are wrong.

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

use libblur::{BlurImage, BlurImageMut, BoxBlurParameters, FastBlurChannels, ThreadingPolicy, box_blur};

#[derive(Default)]
struct Peer {
    width: u32,
    height: u32,
    frames: Vec<Vec<u8>>,
    out: Vec<u8>,
}

impl Peer {
    fn run(&mut self, radius: &str, frame: &str) -> Result<u128, Box<dyn Error>> {
        let source = self.frames.get(frame.parse::<usize>()?).ok_or("There is no such frame.")?;
        let source = BlurImage::borrow(source, self.width, self.height, FastBlurChannels::Channels4);
        let (width, height) = (self.width, self.height);
        let mut target = BlurImageMut::borrow(&mut self.out, width, height, FastBlurChannels::Channels4);
        let window = BoxBlurParameters::new(2 * radius.parse::<u32>()? + 1);
        let begin = Instant::now();
        box_blur(&source, &mut target, window, ThreadingPolicy::Single)?;
        Ok(begin.elapsed().as_nanos())
    }

    fn answer(&mut self, words: &[&str]) -> Result<String, Box<dyn Error>> {
        match words {
            ["open", file, width, height] => {
                (self.width, self.height) = (width.parse()?, height.parse()?);
                let bytes = self.width as usize * self.height as usize * 4;
                self.frames = std::fs::read(file)?.chunks_exact(bytes).map(<[u8]>::to_vec).collect();
                self.out = vec![0; bytes];
                Ok("libblur".into())
            }
            ["prepare", _, radius] => {
                self.run(radius, "0")?;
                Ok(format!("{} 1 thread", self.run(radius, "0")? as f64 / 1e6))
            }
            ["write", _, radius, frame, file] => {
                self.out.fill(0x5a);
                self.run(radius, frame)?;
                std::fs::write(file, &self.out)?;
                Ok(String::new())
            }
            ["run", _, radius, frame, warm] => {
                for _ in 0..warm.parse()? {
                    self.run(radius, frame)?;
                }
                let ns = self.run(radius, frame)?;
                Ok(format!("{ns} {ns}"))
            }
            _ => Err("This request is not known.".into()),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut peer = Peer::default();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match peer.answer(&words) {
            Ok(text) => println!("ok {text}"),
            Err(e) => println!("no {}", e.to_string().replace('\n', " ")),
        }
        std::io::stdout().flush()?;
    }
    Ok(())
}
