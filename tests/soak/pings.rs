//! Pings of a window (`_NET_WM_PING` of the Extended Window Manager Hints), by which window managers see whether a program
//! hangs.

use crate::common::*;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, EventMask};
use x11rb::rust_connection::RustConnection;

/// A connection to the X server that sends pings to a window and gets its answers.
pub struct Pings {
    connection: RustConnection,
    root: u32,
    window: u32,
    protocols: u32,
    ping: u32,
    /// The number of the last ping.
    number: u32,
}

impl Pings {
    pub fn new(display: &Display, window: u32) -> Self {
        let (connection, screen) = x11rb::connect(Some(&display.name)).unwrap();
        let root = connection.setup().roots[screen].root;
        let atom = |name: &str| connection.intern_atom(false, name.as_bytes()).unwrap().reply().unwrap().atom;
        let (protocols, ping) = (atom("WM_PROTOCOLS"), atom("_NET_WM_PING"));
        // Answers are sent to the root window.
        let events = ChangeWindowAttributesAux::new().event_mask(EventMask::SUBSTRUCTURE_NOTIFY);
        connection.change_window_attributes(root, &events).unwrap().check().unwrap();
        Self { connection, root, window, protocols, ping, number: 0 }
    }

    pub fn send(&mut self) {
        self.number += 1;
        let data = [self.ping, self.number, self.window, 0, 0];
        let message = ClientMessageEvent::new(32, self.window, self.protocols, data);
        self.connection.send_event(false, self.window, EventMask::NO_EVENT, message).unwrap();
        self.connection.flush().unwrap();
    }

    /// Returns true if the window has answered the last ping.
    pub fn is_answered(&mut self) -> bool {
        while let Some(event) = self.connection.poll_for_event().unwrap() {
            if let Event::ClientMessage(message) = event
                && message.window == self.root
                && message.type_ == self.protocols
                && message.data.as_data32()[1] == self.number
            {
                return true;
            }
        }
        false
    }
}
