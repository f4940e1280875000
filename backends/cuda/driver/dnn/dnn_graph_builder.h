// Descriptors of cuDNN's graphs, and the question which engine computes one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/driver/dnn/dnn_graph.h"
#include "backends/cuda/driver/dnn/dnn_values.h"

namespace isthmus::cuda {

// Of all that is called, the first failure counts; what is called after it does nothing.
class DnnGraphBuilder {
 public:
  using Opaque = void*;

  DnnGraphBuilder(const DnnGraphFunctions& functions, void* handle)
      : graph_(new DnnGraph(functions)), f_(functions), handle_(handle) {}

  // What an engine for a graph must not do.
  struct Limits {
    bool keepsNans = false;
    bool roundsToTf32 = true;
    int64_t workspaceBytes = 0;
    size_t maxPlans = 1;
  };
  // The graph of these operations with the first engines of the heuristics' that may compute it;
  // `what` names it where there is none.
  StatusOr<std::unique_ptr<DnnGraph>> finish(const std::vector<Opaque>& operations,
                                             const Limits& limits, const std::string& what);

  // What is made next, for errors: "the product of queries and keys".
  void describe(const char* part) { part_ = part; }

  Opaque create(int kind);
  void set(Opaque descriptor, int name, int type, int64_t count, const void* values);
  template <typename Value>
  void set(Opaque descriptor, int name, int type, const Value& value) {
    set(descriptor, name, type, 1, &value);
  }
  void set(Opaque descriptor, int name, const std::vector<int64_t>& numbers) {
    set(descriptor, name, dnn::kTypeInt64, static_cast<int64_t>(numbers.size()), numbers.data());
  }
  Opaque finalize(Opaque descriptor);

  // In memory, and known to runs as the next buffer.
  Opaque buffer(const DnnArray& array, int type);
  // On the way from one operation to the next.
  Opaque virtualArray(const DnnArray& array, int type = dnn::kDataFloat);
  // A number of the host's, of as many dimensions as arrays have. After all buffers.
  Opaque number(float value, size_t rank);

  struct Pointwise {
    int mode = 0;
    int computeType = dnn::kDataFloat;
    int64_t axis = -1;  // of kPointwiseIndex
  };
  // y of x, and of b and t where there are such.
  Opaque pointwise(const Pointwise& settings, Opaque x, Opaque y, Opaque b = nullptr,
                   Opaque t = nullptr);

 private:
  static constexpr int64_t kMaxEngines = 32;  // that are asked for
  static constexpr int64_t kMaxNotes = 64;    // that are read of each

  bool keep(int code, const char* call, int kind, int attribute = -1);
  std::string lastError() const;
  Opaque array(const DnnArray& array, int type, int64_t id, bool isVirtual, bool isByValue);
  bool readNotes(Opaque engine, int name, int type, std::vector<int>& notes);
  bool isAllowed(Opaque config, const Limits& limits, std::string& why);
  std::optional<DnnGraph::Plan> plan(Opaque config, std::string& why);

  std::unique_ptr<DnnGraph> graph_;
  const DnnGraphFunctions& f_;
  void* handle_;
  int64_t lastId_ = 0;
  const char* part_ = "";
  std::string failure_;  // empty: none
};

}  // namespace isthmus::cuda
