//! Where frames are drawn before they are sent: a backend that writes nothing when nothing changed, and whole frames else.

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use std::cell::RefCell;
use std::io;
use std::io::Write;
use std::rc::Rc;

/// Bytes of the frame that is being drawn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bytes(Rc<RefCell<Vec<u8>>>);

impl Bytes {
    /// Takes what was drawn since the last time.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.borrow_mut())
    }
}

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A crossterm backend over [`Bytes`] that repeats no cursor command and knows its size from messages.
pub(crate) struct Canvas {
    inner: CrosstermBackend<Bytes>,
    size: Size,
    cursor: Option<Position>,
    known: bool,
}

impl Canvas {
    /// A canvas of a size.
    pub(crate) fn new(bytes: Bytes, size: Size) -> Self {
        Self { inner: CrosstermBackend::new(bytes), size, cursor: None, known: false }
    }
    /// The window has another size.
    pub(crate) fn resize(&mut self, size: Size) {
        self.size = size;
    }
    /// The terminal was somebody else's meanwhile: nothing is known of its cursor.
    pub(crate) fn forget(&mut self) {
        self.known = false;
    }
}

impl Backend for Canvas {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut content = content.peekable();
        if content.peek().is_none() {
            return Ok(());
        }
        // Drawing moves the cursor: where it is shown, it has to be put back.
        if self.cursor.is_some() {
            self.known = false;
        }
        self.inner.draw(content)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if self.known && self.cursor.is_none() {
            return Ok(());
        }
        (self.known, self.cursor) = (true, None);
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        if self.known && self.cursor.is_some() {
            return Ok(());
        }
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.cursor.unwrap_or_default())
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let position = position.into();
        if self.known && self.cursor == Some(position) {
            return Ok(());
        }
        (self.known, self.cursor) = (true, Some(position));
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.inner.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size, pixels: Size::default() })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::widgets::Paragraph;

    #[test]
    fn the_same_frame_again_writes_nothing() {
        let bytes = Bytes::default();
        let mut terminal = Terminal::new(Canvas::new(bytes.clone(), Size::new(20, 3))).unwrap();
        for cursor in [None, Some(Position::new(2, 1))] {
            let mut frame = |text: &str| {
                terminal
                    .draw(|frame| {
                        frame.render_widget(Paragraph::new(text.to_owned()), frame.area());
                        if let Some(at) = cursor {
                            frame.set_cursor_position(at);
                        }
                    })
                    .unwrap();
                bytes.take()
            };
            assert!(!frame("one").is_empty());
            assert_eq!(frame("one"), b"");
            let other = String::from_utf8(frame("two")).unwrap();
            assert!(other.contains("two"));
            assert_eq!(other.ends_with("\u{1b}[2;3H"), cursor.is_some(), "{other:?}");
        }
    }
}
