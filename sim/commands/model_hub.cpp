#include "commands/model_hub.h"

#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/text/print.h"
#include "base/text/python_numbers.h"
#include "commands/bearer_token.h"
#include "observe/http.h"
#include "scenario/json.h"
#include "scenario/load.h"
#include "scenario/model_files.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRevision = "main";
constexpr double kTimeout_s = 30;  // per file

std::string hub_address() {
  const char* const value = std::getenv("HF_ENDPOINT");
  std::string address = value && *value ? value : "https://huggingface.co";
  while (address.ends_with('/')) address.pop_back();
  if (!is_http_address(address))
    throw InputError("HF_ENDPOINT: found \"" + address + "\", allowed: http://HOST[:PORT] or https://...");
  return address;
}

std::string nearest_model_name(const std::string& name) {
  std::vector<std::string_view> names;
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) names.push_back(entry.name);
  return suggestion(name.substr(name.find('/') + 1), names);
}

// Downloads files of one model from the hub.
class HubModel {
 public:
  explicit HubModel(std::string name) : name_(std::move(name)), hub_(hub_address()) {
    options_ = {.timeout_s = kTimeout_s,
                .allow_redirects = true,
                .bearer_token = bearer_token("HF_TOKEN"),
                .accept = "application/json"};
  }

  // Returns the text of a file; nullopt if the model has no such file.
  std::optional<std::string> file(const std::string& file) const {
    constexpr int kUnauthorized = 401, kForbidden = 403, kNotFound = 404;
    const std::string url = hub_ + "/" + name_ + "/resolve/" + kRevision + "/" + file;
    const HttpAnswer answer = http_get(parse_http_address(url), options_);
    if (answer.status == kNotFound) return std::nullopt;
    if (answer.status == kUnauthorized || answer.status == kForbidden) refuse_access();
    if (!answer.error.empty()) throw InputError("--fetch: " + url + ": " + answer.error);
    // A proxy may have answered instead of the hub.
    if (!parse_json(with_nulls_for_python_numbers(answer.body), url).is_object())
      throw InputError("--fetch: " + url + ": found no JSON object, allowed: the " + file + " of a model");
    return answer.body;
  }

  [[noreturn]] void refuse_missing() const {
    throw InputError("--fetch: " + hub_ + " has no model " + name_ +
                     " with a config.json, allowed: the name of a model on the hub" +
                     nearest_model_name(name_));
  }

  const std::string& hub() const { return hub_; }

 private:
  // Hugging Face gives the same answer for models that do not exist.
  [[noreturn]] void refuse_access() const {
    throw InputError(
        "--fetch: " + hub_ + " refuses to send " + name_ +
        (options_.bearer_token.empty()
             ? ": it is gated or private, or does not exist; set HF_TOKEN to a token that may read it"
             : " to the owner of HF_TOKEN: it is gated or private, or does not exist; ask for access at " +
                   hub_ + "/" + name_) +
        nearest_model_name(name_));
  }

  std::string name_, hub_;
  HttpOptions options_;
};

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

void write_files(const fs::path& folder, const NamedTexts& texts) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw std::system_error(error, folder.string());
  NewFiles files;
  for (const auto& [name, text] : texts) files.add(folder / name, text);
  files.commit();
}

}  // namespace

fs::path fetch_model(const std::string& name) {
  const HubModel model(name);
  const fs::path cache = fetched_models_folder();
  if (cache.empty())
    throw InputError("--fetch: found neither XDG_CACHE_HOME nor HOME, allowed: one of them, for the cache");
  const fs::path config = hub_config(cache, name, kRevision);
  const std::optional<std::string> text = model.file("config.json");
  if (!text) model.refuse_missing();
  NamedTexts files;
  for (const char* name_beside :
       {"generation_config.json", "hf_quant_config.json", "model.safetensors.index.json"}) {
    if (std::optional<std::string> beside = model.file(name_beside))
      files.emplace_back(name_beside, *std::move(beside));
  }
  files.emplace_back("config.json", *text);  // last: a folder with a config.json is complete
  write_files(config.parent_path(), files);
  tell("kvcap: fetched " + name + " from " + model.hub() + " into " + config.parent_path().string());
  return config;
}

}  // namespace kvcap
