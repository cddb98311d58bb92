#include "commands/model_options.h"

#include "commands/model_hub.h"
#include "scenario/model_reading.h"

namespace kvcap {

void declare_model_options(Command& command) {
  command.repeated("--assume", model_reading().assumed_keys,
                   "unknown keys of a model's config.json to ignore: KEY[,KEY]");
  command.value("--as", model_reading().as_family, "read a model's config.json as if it had this model_type");
  command.flag("--fetch", model_reading().fetches,
               "download the config.json of a model ORG/NAME from Hugging Face if this machine lacks it");
  model_reading().fetch = fetch_model;
}

}  // namespace kvcap
