// What the input lengths of a log count. Most servers log the whole prompt of a turn, history included; a
// session is simulated from the new tokens of each turn. Reading one as the other counts history twice, or
// not at all, and nothing else in a result looks wrong: so both readings are compared, and what was done is
// said.
#pragma once

#include "workload/source.h"

namespace kvcap {

// Makes all inputs those of the new tokens, and adds notes. `asked`: by the user; `format`: what is taken
// where the user does not ask, automatic: whole prompts where all inputs prove it, else new tokens;
// `history`: what the scenario says of all sessions. Where histories do not grow a prompt is its input: it
// stays whole. A turn whose prompt is no longer than the prompt and the answer that it builds on starts a
// context of its own. Throws InputError for whole prompts whose histories have pieces.
void settle_inputs(InputIs asked, InputIs format, History history, Source& source);

}  // namespace kvcap
