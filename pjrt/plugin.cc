// The entries of the plugin itself: initialization and attributes.
#include "pjrt/bindings.h"
#include "pjrt/entry.h"
#include "pjrt/named_value.h"

namespace isthmus::pjrt {
namespace {

// Frameworks send StableHLO of the lower of this version and their own.
const std::vector<int64_t> kStablehloCurrent = {1, 17, 0};
const std::vector<int64_t> kStablehloMinimum = {0, 9, 0};

Status pluginInitialize(PJRT_Plugin_Initialize_Args&) { return {}; }

Status pluginAttributes(PJRT_Plugin_Attributes_Args& args) {
  static const NamedValueList& attributes = *new NamedValueList(AttributeMap{
      {"xla_version", int64_t{2}},
      {"stablehlo_current_version", kStablehloCurrent},
      {"stablehlo_minimum_version", kStablehloMinimum},
  });
  args.attributes = attributes.data();
  args.num_attributes = attributes.size();
  return {};
}

}  // namespace

void bindPlugin(PJRT_Api& api) {
  api.PJRT_Plugin_Initialize = kEntry<&pluginInitialize>;
  api.PJRT_Plugin_Attributes = kEntry<&pluginAttributes>;
}

}  // namespace isthmus::pjrt
