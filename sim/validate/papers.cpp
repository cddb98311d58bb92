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
    const std::string role = result.value("role", "test");
    check.role = role == "fitted" ? Role::fitted : role == "input" ? Role::input : Role::test;
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

std::span<const Paper> papers() {
  static constexpr Paper kPapers[] = {{"hcache", hcache_checks},
                                      {"ca", cached_attention_checks},
                                      {"blend", cacheblend_checks},
                                      {"hyper", hyperinfer_checks},
                                      {"htp", npu_checks}};
  return kPapers;
}

std::vector<Check> checks_of(std::span<const Paper> some) {
  Lab lab("scenarios/papers/");
  // The first pass only notes what has to run.
  for (const Paper& paper : some) paper.checks(lab);
  lab.run_missing();
  std::vector<Check> checks;
  for (const Paper& paper : some) {
    std::vector<Check> more = paper.checks(lab);
    checks.insert(checks.end(), more.begin(), more.end());
  }
  return checks;
}

}  // namespace kvcap
