//! What the brackets of a text are, token by token: a brace may open a block, the cases of a `switch`, or a value in a
//! text.

use rhai::Token;

/// An open bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bracket {
    Round,
    Square,
    /// A map, `#{`.
    Map,
    /// The body of a `switch`.
    Cases,
    /// The body of a `do`.
    Repeated,
    /// Any other block.
    Block,
    /// `${` in a text.
    InText,
}

impl Bracket {
    /// Whether statements stand in it.
    fn holds_statements(self) -> bool {
        matches!(self, Self::Block | Self::Repeated | Self::InText)
    }
}

/// The brackets that are open behind the tokens read so far.
#[derive(Default)]
pub(crate) struct Brackets {
    /// Opened and not closed, outermost first, and for each what was to come at its place.
    open: Vec<(Bracket, Expected)>,
    expected: Expected,
    /// How many are values in texts.
    n_in_text: usize,
    /// Behind the part of a text before `${`.
    text_opens: bool,
}

/// What the brace that comes next will be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expected {
    #[default]
    Nothing,
    /// The block of `if`, `while` and the like: no statement ends before it.
    Block,
    Cases,
    Repeated,
    /// `while` or `until` behind the block of a `do`.
    Condition,
}

impl Brackets {
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn innermost(&self) -> Option<Bracket> {
        self.open.last().map(|(bracket, _)| *bracket)
    }

    /// Whether a statement could end here: in a block, and not between `if` and its block.
    pub(crate) fn are_in_statements(&self) -> bool {
        self.innermost().is_none_or(Bracket::holds_statements) && self.expected == Expected::Nothing
    }

    /// Whether one is a value in a text.
    pub(crate) fn are_in_text(&self) -> bool {
        self.n_in_text > 0
    }

    /// Takes note of the next token; the bracket that it closes comes back.
    pub(crate) fn follow(&mut self, token: &Token) -> Option<Bracket> {
        match token {
            Token::InterpolatedString(_) => self.text_opens = true,
            Token::If | Token::For | Token::Fn | Token::Catch => self.expected = Expected::Block,
            Token::Switch => self.expected = Expected::Cases,
            Token::Do => self.expected = Expected::Repeated,
            Token::While | Token::Until => {
                let is_tail = self.expected == Expected::Condition;
                self.expected = if is_tail { Expected::Nothing } else { Expected::Block };
            }
            Token::LeftParen => self.open(Bracket::Round),
            Token::LeftBracket | Token::QuestionBracket => self.open(Bracket::Square),
            Token::MapStart => self.open(Bracket::Map),
            Token::LeftBrace if std::mem::take(&mut self.text_opens) => self.open(Bracket::InText),
            Token::LeftBrace => {
                let bracket = match std::mem::take(&mut self.expected) {
                    Expected::Nothing | Expected::Block | Expected::Condition => Bracket::Block,
                    Expected::Cases => Bracket::Cases,
                    Expected::Repeated => Bracket::Repeated,
                };
                self.open(bracket);
            }
            Token::RightParen | Token::RightBracket | Token::RightBrace => return self.close(),
            _ if self.expected == Expected::Condition => self.expected = Expected::Nothing,
            _ => {}
        }
        None
    }

    fn open(&mut self, bracket: Bracket) {
        self.n_in_text += usize::from(bracket == Bracket::InText);
        self.open.push((bracket, std::mem::take(&mut self.expected)));
    }

    fn close(&mut self) -> Option<Bracket> {
        let (bracket, expected) = self.open.pop()?;
        self.n_in_text -= usize::from(bracket == Bracket::InText);
        let is_tail = bracket == Bracket::Repeated;
        self.expected = if is_tail { Expected::Condition } else { expected };
        Some(bracket)
    }
}
