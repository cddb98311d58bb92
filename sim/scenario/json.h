// JSON as the loader passes it around. Private to scenario/ and to readers of files that hold scenarios: the
// JSON library stays out of other modules.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/places.h"
#include "base/read_fields.h"
#include "scenario/load.h"
#include "scenario/scenario.h"

namespace kvcap {

using Json = nlohmann::ordered_json;

// A file with its references resolved and its overrides applied, and where each part of it came from.
struct Document {
  Json json;
  Places places;
  double profile_gpus = 0;              // gpu.count of the profile's file; 0: the profile is no file
  std::string prices_file = {};         // empty: none
  std::vector<std::string> notes = {};  // on what was done to it
};

// Text to JSON; a syntax error or a key given twice is an InputError with file, line and column.
Json parse_json(std::string_view text, const std::string& file);
// Fields out of a document, checked one by one (not yet against each other: see check.h).
Scenario read_scenario(const Document& document);
ModelSpec read_model(const Document& document);
HardwareProfile read_hardware(const Document& document);

// The scenario as the table of fields writes it, every default filled in.
Json write_scenario(const Scenario& scenario);

// Likewise a profile.
Json write_hardware(const HardwareProfile& hardware);

// True when the object is a Hugging Face config.json; `model_of_hugging_face` turns it into our model file.
bool is_hugging_face(const Json& object);
Json model_of_hugging_face(const Json& config, const std::string& name, const std::string& place);

// Replaces names and paths of models, hardware and policies by what they stand for, then applies overrides.
Document resolve_scenario(std::string_view text, const std::string& file,
                          const std::vector<Override>& overrides);
// Puts the prices of billing.prices, a file, in place of those of the hardware profile that --set leaves
// alone, and clears the field. Throws InputError.
void take_prices(Document& document);
// The prices above 0 of a document's hardware and where they come from.
std::vector<PriceSource> price_sources(const Document& document);
// Gives a share of the server that gpu.per_server describes its part of the DRAM and the SSDs.
void take_share(Document& document);
// Gives `serving` the host times of hardware.engine that it does not say itself.
void take_engine(Document& document);
// "path=value" as given to --set.
Override override_of(const std::string& argument);
Document resolve_model(const std::string& name_or_path);
Document resolve_hardware(const std::string& name_or_path);

}  // namespace kvcap
