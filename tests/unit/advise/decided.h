// Judges configurations until no further seeds can decide them.
#pragma once

#include <vector>

#include "advise/judge.h"

namespace kvcap {

inline std::vector<const Candidate*> decided(Judge& judge, const std::vector<Changes>& wanted) {
  std::vector<Trial> trials;
  for (const Changes& changes : wanted) trials.push_back({changes});
  const std::vector<const Candidate*> judged = judge.look(trials);
  for (const Candidate* one : judged) {
    while (judge.is_open(*one)) judge.look_again(*one);
  }
  return judged;
}

}  // namespace kvcap
