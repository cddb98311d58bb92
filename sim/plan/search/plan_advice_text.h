// What surrounds the answer of a plan, in words: why it wins, what more would bring, how far it holds.
#pragma once

#include "plan/search/plan_text.h"
#include "plan/search/plan_words.h"

namespace kvcap {

// REQUIRES: the report has an answer.
void add_advice(Page& page, const PlanReport& report);

}  // namespace kvcap
