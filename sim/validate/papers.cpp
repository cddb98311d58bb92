#include "validate/papers.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/embedded.h"

namespace kvcap {
namespace {

const nlohmann::json& published_results() {
  static const nlohmann::json results = [] {
    for (const EmbeddedFile& file : embedded_files()) {
      if (file.path == "scenarios/papers/published.json") {
        return nlohmann::json::parse(file.text)["results"];
      }
    }
    KVCAP_BUG("no scenarios/papers/published.json in the binary");
  }();
  return results;
}

Claim claim_of(const std::string& kind) {
  if (kind == "order") return Claim::order;
  return kind == "range" ? Claim::range : Claim::exact;
}

}  // namespace

Check published(const std::string& id) {
  for (const nlohmann::json& result : published_results()) {
    if (result["id"] != id) continue;
    Check check;
    check.id = id;
    check.suite = "papers: " + id.substr(0, id.find('.'));
    check.claim = claim_of(result["kind"]);
    if (result.contains("value")) check.reference = result["value"].get<std::vector<double>>();
    return check;
  }
  KVCAP_BUG(id.c_str());
}

std::vector<std::string> published_ids(const std::string& paper) {
  std::vector<std::string> ids;
  for (const nlohmann::json& result : published_results()) {
    const std::string id = result["id"];
    if (id.starts_with(paper + ".")) ids.push_back(id);
  }
  return ids;
}

std::vector<Check> paper_checks() {
  Lab lab;
  const auto all = [&lab] {
    std::vector<Check> checks;
    for (const auto paper : {hcache_checks, npu_checks}) {
      std::vector<Check> more = paper(lab);
      checks.insert(checks.end(), more.begin(), more.end());
    }
    return checks;
  };
  all();  // only notes what has to run
  lab.run_missing();
  return all();
}

}  // namespace kvcap
