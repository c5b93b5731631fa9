//! A secret asked for at a terminal, without echo.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, read};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io::{self, Write as _};

/// Gives the terminal its echo back when it goes out of scope.
struct Raw;

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = disable_raw_mode();
        let _ = writeln!(io::stderr());
    }
}

/// What a key did.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    More,
    Whole,
    Left,
}

/// Asks for one line on stderr and reads it from the terminal; nothing of it is shown. None where the person left with
/// ctrl-c. Blocks.
///
/// # Errors
/// The terminal does not read.
pub fn ask(prompt: &str) -> io::Result<Option<String>> {
    let mut err = io::stderr().lock();
    let _ = write!(err, "{prompt}");
    let _ = err.flush();
    drop(err);
    enable_raw_mode()?;
    let _raw = Raw;
    let mut secret = String::new();
    loop {
        match read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => match take(&mut secret, key) {
                Typed::More => {}
                Typed::Whole => return Ok(Some(secret.trim().to_owned())),
                Typed::Left => return Ok(None),
            },
            Event::Paste(text) => secret.push_str(&text),
            _ => {}
        }
    }
}

fn take(secret: &mut String, key: KeyEvent) -> Typed {
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'd') if ctrl => return Typed::Left,
        KeyCode::Char('j' | 'm') if ctrl => return Typed::Whole,
        KeyCode::Enter => return Typed::Whole,
        KeyCode::Char('u' | 'w') if ctrl => secret.clear(),
        KeyCode::Char('h') if ctrl => drop(secret.pop()),
        KeyCode::Backspace => drop(secret.pop()),
        KeyCode::Char(c) if !ctrl => secret.push(c),
        _ => {}
    }
    Typed::More
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[(KeyCode, KeyModifiers)]) -> (String, Typed) {
        let mut secret = String::new();
        let mut last = Typed::More;
        for (code, modifiers) in keys {
            last = take(&mut secret, KeyEvent::new(*code, *modifiers));
        }
        (secret, last)
    }

    #[test]
    fn a_secret_is_typed_corrected_and_left() {
        let (plain, ctrl) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
        let c = |c: char, m| (KeyCode::Char(c), m);
        for (keys, secret, last) in [
            (vec![c('a', plain), c('B', KeyModifiers::SHIFT), (KeyCode::Enter, plain)], "aB", Typed::Whole),
            (vec![c('a', plain), c('b', plain), (KeyCode::Backspace, plain), c('j', ctrl)], "a", Typed::Whole),
            (vec![c('a', plain), c('u', ctrl), c('x', plain), (KeyCode::Left, plain)], "x", Typed::More),
            (vec![c('a', plain), c('c', ctrl)], "a", Typed::Left),
            (vec![c('d', ctrl)], "", Typed::Left),
        ] {
            assert_eq!(typed(&keys), (secret.to_owned(), last));
        }
    }
}
