#include "text/fit_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "metrics/statistics/quantiles.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

std::string formatted(const char* pattern, auto... values) {
  char text[300];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string percent(double error) { return formatted("%+.1f %%", 100 * error); }

// Returns the row of a fitted parameter. Times are printed in ms; factors have no unit.
std::string row_of(const FitEstimate& one) {
  const FitParameter& parameter = one.parameter;
  const char* unit = parameter.reference_s > 0 ? " ms" : "";
  if (!one.is_told()) return formatted("%-30s%12s\n", parameter.name.c_str(), "not identified");
  const double scale = parameter.reference_s > 0 ? 1e3 : 1;
  const auto [low, high] = one.interval();
  return formatted("%-30s%12s   %-22s%8.0f %%\n", parameter.name.c_str(),
                   (format_number(scale * parameter.value_of(one.x)) + unit).c_str(),
                   (format_number(scale * low) + " to " + format_number(scale * high) + unit).c_str(),
                   100 * one.learned());
}

std::string fit_lines(const std::string& sentence) {
  std::string text;
  for (const std::string& line : wrap(sentence, 100)) text += line + "\n";
  return text;
}

// Returns the median over the runs of the absolute relative error of one latency's mean.
double median_error(const std::vector<FitError>& errors, std::string_view metric,
                    double FitError::*simulated_ms) {
  std::vector<double> values;
  for (const FitError& one : errors) {
    if (one.metric == metric) values.push_back(std::abs(one.*simulated_ms / one.measured_ms - 1));
  }
  std::sort(values.begin(), values.end());
  return values.empty() ? NAN : quantile_of_sorted(values, 0.5);
}

std::string sentences_of(const FitAnswer& answer) {
  std::string text;
  std::vector<std::string> silent;
  for (const FitEstimate& one : answer.estimates) {
    if (!one.is_told()) silent.push_back(one.parameter.name);
  }
  if (!silent.empty()) {
    text +=
        fit_lines("The runs do not identify " + joined(silent) + ", which keep the base profile's values.");
  }
  for (const Confounded& pair : answer.confounded) {
    text += fit_lines("The runs cannot separate " + answer.estimates[pair.first].parameter.name + " from " +
                      answer.estimates[pair.second].parameter.name +
                      formatted(" (correlation %.2f); only their combination is fitted.", pair.correlation));
  }
  if (!answer.has_converged)
    text += "The optimizer stopped at its limit of iterations, before it converged.\n";
  return text;
}

// Describes how a run's prefix cache hits are distributed over its prompts, and says that they do not apply
// to other workloads.
std::string form_of(const PromptHits& hits) {
  const bool is_share = hits.shared == SharedText::share_of_each_prompt;
  return std::string(is_share ? ", the same share of every prompt"
                              : ", the same first tokens of all prompts") +
         ". Hits belong to this log, not to the profile: another workload has the hits of the text that it "
         "shares.";
}

std::string fitted_share(const FitEstimate& share, const PromptHits& hits) {
  const auto [low, high] = share.interval();
  return " Fitted together with the other parameters: a hit share of " +
         format_percent(share.parameter.value_of(share.x)) + " (" + format_percent(low) + " to " +
         format_percent(high) + ")" + form_of(hits);
}

// Describes how the fit treats the prefix cache hits of a run whose log does not show them; "" if the log
// shows them.
std::string hits_text(const FitRun& run, const FitAnswer& answer) {
  const PromptHits& hits = run.hits;
  if (!hits.are_unknown) return "";
  std::string text = run.name + " does not show which prompts share text. ";
  if (hits.given == 0.0) return text + "By --hit-share, none do.";
  if (hits.given) {
    return text + "By --hit-share, the server's cache held " + format_percent(*hits.given) +
           " of their tokens" + form_of(hits);
  }
  const std::string ask =
      " Set --hit-share to the server's token hit rate (vLLM: prefix_cache_hits over prefix_cache_queries)";
  if (hits.shared == SharedText::nothing)
    return text + "The fit assumes that none do. " + hits.evidence + "." + ask + ".";
  text += "The server found part of the prompts in its prefix cache: " + hits.evidence + ".";
  for (const FitEstimate& one : answer.estimates) {
    if (one.parameter.of_run == run.name && one.is_told()) text += fitted_share(one, hits);
  }
  if (run.only_judged) text += " It is evaluated without these hits.";
  return text + ask + "; if no prompts share text, set it to 0 and check the number of GPUs.";
}

// Returns warnings about poor fits and implausible values, with what to check.
std::string warnings_of(const FitAnswer& answer) {
  std::string worse, far;
  for (const FitError& one : answer.errors) {
    const double base = std::abs(one.base_ms / one.measured_ms - 1),
                 fitted = std::abs(one.fitted_ms / one.measured_ms - 1);
    if (!one.metric.starts_with("mean_") || !(fitted > 0.15 || fitted > base + 0.02)) continue;
    worse += (worse.empty() ? "" : ", ") + one.metric + " of " + one.run;
  }
  for (const FitEstimate& one : answer.estimates) {
    if (!one.is_told() || !one.parameter.of_run.empty() ||
        std::abs(one.x - one.parameter.prior) < 3 * one.prior_sigma)
      continue;
    far += (far.empty() ? "" : ", ") + one.parameter.name;
  }
  std::string text;
  const std::string check = "; check the settings that the notes assume";
  if (!worse.empty()) text += fit_lines("Warning: the fit does not describe " + worse + check + ".");
  if (!far.empty()) {
    text += fit_lines("Warning: " + far +
                      " lie more than 3 standard deviations from the base profile's values" + check + ".");
  }
  return text;
}

// Returns the errors on held-out requests, or all errors if there are none.
std::vector<FitError> judging(const FitAnswer& answer) {
  std::vector<FitError> unseen;
  std::copy_if(answer.errors.begin(), answer.errors.end(), std::back_inserter(unseen),
               [](const FitError& one) { return !one.was_fitted; });
  return unseen.empty() ? answer.errors : unseen;
}

}  // namespace

std::string fit_text(const std::vector<FitRun>& runs, const FitAnswer& answer) {
  const auto fitted_runs =
      std::count_if(runs.begin(), runs.end(), [](const FitRun& one) { return !one.only_judged; });
  std::string text = runs.front().scenario.hardware.name + " fitted to " + format_count(fitted_runs, "run") +
                     ": " + format_count(answer.fitted_requests, "request") + " fitted, " +
                     format_count(answer.judged_requests) + " held out, " +
                     format_count(answer.simulations, "simulation") + "\n\n";
  for (const FitRun& run : runs) {
    if (const std::string hits = hits_text(run, answer); !hits.empty()) text += fit_lines(hits) + "\n";
  }
  text += formatted("%-30s%12s   %-22s%10s\n", "parameter", "fitted", "95 % interval", "learned");
  for (const FitEstimate& one : answer.estimates) text += row_of(one);
  text += "\n" + sentences_of(answer);
  text += "\nErrors on held-out requests, where there are enough:\n\n";
  text += formatted("%-18s%12s%12s%10s%12s%10s\n", "ms", "measured", "base", "error", "fitted", "error");
  std::string run;
  for (const FitError& one : answer.errors) {
    if (one.run != run) text += one.run + (one.was_fitted ? ", all requests, which were fitted\n" : "\n");
    run = one.run;
    text +=
        formatted("  %-16s%12s%12s%10s%12s%10s\n", one.metric.c_str(), format_number(one.measured_ms).c_str(),
                  format_number(one.base_ms).c_str(), percent(one.base_ms / one.measured_ms - 1).c_str(),
                  format_number(one.fitted_ms).c_str(), percent(one.fitted_ms / one.measured_ms - 1).c_str());
  }
  if (const std::string warnings = warnings_of(answer); !warnings.empty()) text += "\n" + warnings;
  for (const FitRun& one : runs) {
    for (const std::string& note : one.notes) text += "\n" + fit_lines("note: " + one.name + ": " + note);
  }
  return text;
}

std::string fit_json(const std::vector<FitRun>& runs, const FitAnswer& answer) {
  Json json = {{"schema", "kvcap.fit/1"},
               {"base", runs.front().scenario.hardware.name},
               {"runs", Json::array()},
               {"fitted_requests", answer.fitted_requests},
               {"judged_requests", answer.judged_requests},
               {"simulations", answer.simulations},
               {"converged", answer.has_converged},
               {"parameters", Json::array()},
               {"confounded", Json::array()},
               {"errors", Json::array()}};
  for (const FitRun& run : runs) {
    json["runs"].push_back({{"name", run.name},
                            {"requests", run.workload.turns.size()},
                            {"fitted", !run.only_judged},
                            {"notes", run.notes}});
    if (const std::string hits = hits_text(run, answer); !hits.empty()) json["runs"].back()["hits"] = hits;
  }
  for (const FitEstimate& one : answer.estimates) {
    const FitParameter& parameter = one.parameter;
    json["parameters"].push_back({{"name", parameter.name},
                                  {"meaning", parameter.meaning},
                                  {"unit", parameter.reference_s > 0 ? "s" : ""},
                                  {"fitted", parameter.value_of(one.x)},
                                  {"low", one.interval().first},
                                  {"high", one.interval().second},
                                  {"sigma", one.sigma},
                                  {"prior_sigma", one.prior_sigma},
                                  {"learned", one.learned()},
                                  {"identified", one.is_told()}});
  }
  for (const Confounded& pair : answer.confounded) {
    json["confounded"].push_back({{"first", answer.estimates[pair.first].parameter.name},
                                  {"second", answer.estimates[pair.second].parameter.name},
                                  {"correlation", pair.correlation}});
  }
  for (const FitError& one : answer.errors) {
    json["errors"].push_back({{"run", one.run},
                              {"metric", one.metric},
                              {"kept_aside", !one.was_fitted},
                              {"measured_ms", one.measured_ms},
                              {"base_ms", one.base_ms},
                              {"base_error", one.base_ms / one.measured_ms - 1},
                              {"fitted_ms", one.fitted_ms},
                              {"fitted_error", one.fitted_ms / one.measured_ms - 1}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<std::string> fit_notes(const std::vector<FitRun>& runs, const FitAnswer& answer) {
  std::vector<std::string> notes;
  for (const FitRun& run : runs) {
    notes.push_back(std::string(run.only_judged ? "judged by " : "fitted to ") + run.name + ": " +
                    format_count(std::ssize(run.workload.turns), "request") + ", " + run.scenario.model.name +
                    ", tensor_parallel_size " + std::to_string(run.scenario.serving.tensor_parallel_size));
  }
  for (const FitRun& run : runs) {
    if (const std::string hits = hits_text(run, answer); !hits.empty()) notes.push_back(hits);
  }
  const std::vector<FitError> errors = judging(answer);
  for (const char* metric : {"mean_ttft_ms", "mean_tpot_ms", "mean_e2el_ms"}) {
    const double base = median_error(errors, metric, &FitError::base_ms);
    if (std::isnan(base)) continue;
    notes.push_back(std::string(metric) +
                    (!errors.front().was_fitted ? ", of held-out requests" : ", of the fitted requests") +
                    ": median error " + format_percent(median_error(errors, metric, &FitError::fitted_ms)) +
                    " (the base profile's " + format_percent(base) + ")");
  }
  std::vector<std::string> silent;
  for (const FitEstimate& one : answer.estimates) {
    if (!one.is_told()) silent.push_back(one.parameter.name);
  }
  if (!silent.empty())
    notes.push_back("the runs do not identify " + joined(silent) + ": values of the base profile");
  return notes;
}

}  // namespace kvcap
