//! What the layer tells people, on standard error: the only place of the crate that writes there. What is said is the
//! business of those who say it.

use std::fmt::{Display, Write};

use crate::os::sys;

/// Says one line. Where nobody can hear it (a closed pipe, one that nobody reads, a full disk), it is not said: that is no
/// reason to end a training, as `eprintln!` would by its panic, nor to wait.
pub(crate) fn print_diagnostic(text: impl Display) {
    // In one piece, so that the lines of several processes stay whole.
    sys::write_to_stderr(line(&text.to_string()).as_bytes());
}

/// The line for a text, in which what others said (a setting, a receiver) may stand: none of it moves the cursor.
fn line(text: &str) -> String {
    let mut line = String::from("stepscope: ");
    for letter in text.chars() {
        // (Writing into a string does not fail.)
        let _ = match letter {
            '\n' | '\t' => line.write_char(letter),
            letter if letter.is_control() => write!(line, "{}", letter.escape_default()),
            letter => line.write_char(letter),
        };
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_said_does_not_move_the_cursor() {
        let said = line("LEVEL=\u{1b}[31m\u{9b}2Jlaut\r is none of off, basic: ignored, ä\n  …");
        assert_eq!(
            said,
            "stepscope: LEVEL=\\u{1b}[31m\\u{9b}2Jlaut\\r is none of off, basic: ignored, ä\n  …\n"
        );
    }
}
