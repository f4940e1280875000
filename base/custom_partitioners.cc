#include "base/custom_partitioners.h"

#include <map>
#include <mutex>
#include <string>

namespace isthmus {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, JAX_CustomCallPartitioner_Callbacks*, std::less<>> byName;
};

// Never destroyed: programs are compiled while the process ends, too.
Registry& registry() {
  static Registry& registry = *new Registry;
  return registry;
}

}  // namespace

void registerCustomPartitioner(std::string_view name,
                               JAX_CustomCallPartitioner_Callbacks* partitioner) {
  std::lock_guard lock(registry().mutex);
  registry().byName.insert_or_assign(std::string(name), partitioner);
}

JAX_CustomCallPartitioner_Callbacks* findCustomPartitioner(std::string_view name) {
  std::lock_guard lock(registry().mutex);
  auto found = registry().byName.find(name);
  return found != registry().byName.end() ? found->second : nullptr;
}

}  // namespace isthmus
