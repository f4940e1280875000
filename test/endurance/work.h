// What the threads of the endurance test do.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "isthmus/client.hpp"

namespace isthmus::endurance {

inline constexpr size_t kDevices = 4;

// Frees a handle of the C API, but for clients and executables of others.
template <typename Handle>
using Owned = std::shared_ptr<Handle>;

// Shared by all threads; what is in it is safe from any of them.
class World {
 public:
  explicit World(client::Plugin plugin);

  client::Plugin plugin;
  Owned<PJRT_Client> client;
  std::vector<PJRT_Device*> devices;
  Owned<PJRT_LoadedExecutable> twicePlusOne;  // of f32[256]
  Owned<PJRT_LoadedExecutable> sumOverDevices;
  Owned<PJRT_LoadedExecutable> addOneInPlace;

  // Buffers that threads pass to each other, and delete while others use them.
  std::mutex slotsMutex;
  std::array<Owned<PJRT_Buffer>, 32> slots;
  // Programs over several devices are launched on all by one call, so any number may be in flight;
  // children are made one at a time.
  std::mutex forkMutex;
};

struct Kind {
  const char* name;
  int weight;  // how often, among all
  void (*run)(World& world, std::mt19937_64& random);
};

// Each throws what went wrong.
extern const std::vector<Kind> kKinds;

}  // namespace isthmus::endurance
