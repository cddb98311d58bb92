// Formats the result of kvcap fit: as a report for people, as JSON, and as notes of the fitted profile.
#pragma once

#include <string>
#include <vector>

#include "fit/fit.h"

namespace kvcap {

std::string fit_text(const std::vector<FitRun>& runs, const FitAnswer& answer);
// Returns a kvcap.fit/1 document.
std::string fit_json(const std::vector<FitRun>& runs, const FitAnswer& answer);
// Returns the notes that are stored in the fitted profile.
std::vector<std::string> fit_notes(const std::vector<FitRun>& runs, const FitAnswer& answer);

}  // namespace kvcap
