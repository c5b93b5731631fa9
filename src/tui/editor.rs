//! Hands a text to `$VISUAL` or `$EDITOR` and reads it back.

use std::io::Write as _;
use std::process::Command;

/// The new text; none when the editor failed or nothing changed. The terminal is the editor's while it runs.
pub(crate) fn edit(text: &str) -> Option<String> {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let folder = std::env::temp_dir().join(format!("countersign-{}", std::process::id()));
    crate::config::make_private(&folder).ok()?;
    let path = folder.join("text.md");
    let edited = (|| {
        let mut file = std::fs::File::create(&path).ok()?;
        file.write_all(text.as_bytes()).ok()?;
        drop(file);
        // An editor with arguments, like `code --wait`.
        let mut words = editor.split_whitespace();
        let status = Command::new(words.next()?).args(words).arg(&path).status().ok()?;
        if !status.success() {
            return None;
        }
        std::fs::read_to_string(&path).ok()
    })();
    let _ = std::fs::remove_dir_all(&folder);
    edited.filter(|new| new != text)
}
