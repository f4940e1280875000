// OpSharding messages as the text of mhlo.sharding attributes.
#include "compiler/import/hlo/sharding.h"

namespace isthmus::importer {
namespace {

// OpSharding.Type's numbers.
enum ShardingType : int32_t {
  kAbsent = -1,
  kReplicated = 0,
  kMaximal = 1,
  kTuple = 2,
  kOther = 3,
  kManual = 4,
  kUnknown = 5,
  kUnreduced = 6,
};

template <typename Numbers>
std::string joined(const Numbers& numbers) {
  std::string text;
  for (int64_t number : numbers) {
    if (!text.empty()) text += ',';
    text += std::to_string(number);
  }
  return text;
}

// The word for a type that needs no numbers; null for the others.
const char* wordOf(int32_t type) {
  switch (type) {
    case kReplicated:
      return "replicated";
    case kManual:
      return "manual";
    case kUnknown:
      return "unknown";
    case kUnreduced:
      return "unreduced";
    default:
      return nullptr;
  }
}

bool subgroupsText(const hlo::Sharding& sharding, std::string& text, ErrorSink& sink) {
  if (sharding.replicate_on_last_tile_dim) text += " last_tile_dim_replicate";
  if (sharding.last_tile_dims.empty()) return true;
  text += " last_tile_dims={";
  for (size_t i = 0; i < sharding.last_tile_dims.size(); ++i) {
    const char* word = wordOf(sharding.last_tile_dims[i]);
    if (word == nullptr) {
      return sink.fail(StatusCode::kInvalidArgument,
                       "hlo program has a sharding of unknown subgroups");
    }
    text += (i == 0 ? "" : ", ") + std::string(word);
  }
  text += '}';
  return true;
}

}  // namespace

bool shardingText(const hlo::Sharding& sharding, std::string& text, ErrorSink& sink) {
  text.clear();
  if (sharding.type == kAbsent) return true;
  if (const char* word = wordOf(sharding.type)) {
    text = "{" + std::string(word) + "}";
    return true;
  }
  if (sharding.type == kMaximal) {
    const int64_t device =
        sharding.tile_assignment_devices.empty() ? 0 : sharding.tile_assignment_devices[0];
    text = "{maximal device=" + std::to_string(device) + "}";
    return true;
  }
  if (sharding.type != kOther) {
    return sink.fail(StatusCode::kInvalidArgument, "hlo program has a sharding of unknown type");
  }
  text = "{devices=[" + joined(sharding.tile_assignment_dimensions) + "]";
  if (!sharding.iota_reshape_dims.empty()) {
    text += "<=[" + joined(sharding.iota_reshape_dims) + "]";
    // The transposition that changes nothing is not written.
    const auto& order = sharding.iota_transpose_perm;
    if (order.size() > 1) text += "T(" + joined(order) + ")";
  } else {
    text += joined(sharding.tile_assignment_devices);
  }
  if (!subgroupsText(sharding, text, sink)) return false;
  text += '}';
  return true;
}

bool leafShardings(const hlo::Sharding& sharding, size_t numLeaves, std::vector<std::string>& texts,
                   ErrorSink& sink) {
  texts.assign(numLeaves, "");
  if (sharding.type != kTuple) {
    std::string text;
    if (!shardingText(sharding, text, sink)) return false;
    texts.assign(numLeaves, text);
    return true;
  }
  // An empty tuple has one sharding all the same.
  if (sharding.tuple_shardings.size() != numLeaves && numLeaves != 0) {
    return sink.fail(StatusCode::kInvalidArgument,
                     "hlo program has a tuple with another number of shardings than elements");
  }
  for (size_t i = 0; i < numLeaves; ++i) {
    if (!shardingText(sharding.tuple_shardings[i], texts[i], sink)) return false;
  }
  return true;
}

}  // namespace isthmus::importer
