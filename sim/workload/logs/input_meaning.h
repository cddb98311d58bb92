// Decides whether the input lengths of a log count whole prompts or new tokens. Most servers log the whole
// prompt of a turn, including its history; the simulator needs the new tokens of each turn. The wrong reading
// counts history twice or not at all, and results do not show the mistake. Therefore notes compare both
// readings and state which one is used.
#pragma once

#include "workload/source.h"

namespace kvcap {

// Converts all inputs to new tokens and adds notes. `asked`: the user's choice. `format`: the format's
// definition, used if the user made no choice; automatic means whole prompts if all inputs prove it, else new
// tokens. `history`: the scenario's setting for all sessions. If the history does not grow, the prompt is the
// input and stays unchanged. A turn whose prompt is not longer than its parent's prompt and answer starts a
// context of its own. Throws InputError for whole prompts if later turns of a growing history have pieces.
void settle_inputs(InputIs asked, InputIs format, History history, Source& source);

}  // namespace kvcap
