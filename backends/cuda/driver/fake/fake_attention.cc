// Attention as the operations of a graph say it, one array after the other; but only if they are
// those that cuDNN has a kernel for.
#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/cuda/driver/fake/fake_convolution.h"
#include "backends/cuda/driver/fake/fake_descriptor.h"

namespace fake_dnn {
namespace {

using Operations = std::vector<const Descriptor*>;

constexpr int kPointwiseOperation = 13, kMatmulOperation = 19, kReductionOperation = 22;
constexpr int kReshapeOperation = 31;
constexpr int kAdd = 0, kMultiply = 1, kDivide = 6, kSubtract = 9, kExp = 13, kLog = 15;
constexpr int kGreaterOrEqual = 303, kIndex = 501, kSelect = 601;
constexpr int kReduceAdd = 0, kReduceMax = 3;
constexpr int kInt32 = 4, kBoolean = 11;

// "m" for a product, "+" and so on for an operation on elements, "M" and "S" for reductions.
char letterOf(const Descriptor& operation) {
  if (operation.kind == kMatmulOperation) return 'm';
  if (operation.kind == kReductionOperation) {
    const int how = operation.other(1612).one<int>(1600);
    return how == kReduceMax ? 'M' : how == kReduceAdd ? 'S' : ' ';
  }
  if (operation.kind == kReshapeOperation) return 'r';
  if (operation.kind != kPointwiseOperation) return ' ';
  switch (operation.other(750).one<int>(0)) {
    case kAdd:
      return '+';
    case kMultiply:
      return '*';
    case kDivide:
      return '/';
    case kSubtract:
      return '-';
    case kExp:
      return 'e';
    case kLog:
      return 'l';
    case kGreaterOrEqual:
      return '>';
    case kIndex:
      return 'i';
    case kSelect:
      return '?';
    default:
      return ' ';
  }
}

std::string formOf(const Operations& operations) {
  std::string form;
  for (const Descriptor* operation : operations) form += letterOf(*operation);
  return form;
}

struct Place {
  int64_t index[4];
};

// An array with elements side by side, and the types that round them.
struct Values {
  std::vector<int64_t> dims;
  std::vector<float> elements;

  float at(const Place& place) const {
    int64_t i = 0;
    for (size_t d = 0; d < 4; ++d) i = i * dims[d] + (dims[d] == 1 ? 0 : place.index[d]);
    return elements[static_cast<size_t>(i)];
  }
};

template <typename Each>
void forEachPlace(const std::vector<int64_t>& dims, const Each& each) {
  Place place{};
  for (place.index[0] = 0; place.index[0] < dims[0]; ++place.index[0]) {
    for (place.index[1] = 0; place.index[1] < dims[1]; ++place.index[1]) {
      for (place.index[2] = 0; place.index[2] < dims[2]; ++place.index[2]) {
        for (place.index[3] = 0; place.index[3] < dims[3]; ++place.index[3]) each(place);
      }
    }
  }
}

int64_t offsetOf(const Descriptor& tensor, const Place& place) {
  const auto dims = tensor.list<int64_t>(902), strides = tensor.list<int64_t>(903);
  int64_t offset = 0;
  for (size_t d = 0; d < 4; ++d) offset += dims[d] == 1 ? 0 : place.index[d] * strides[d];
  return offset;
}

float rounded(int type, float value) {
  if (type == 0 || type == kInt32 || type == kBoolean) return value;
  uint16_t bits = 0;
  write(type, &bits, 0, value);
  return read(type, &bits, 0);
}

class Evaluation {
 public:
  Evaluation(Operations operations, std::map<int64_t, void*> places)
      : operations_(std::move(operations)), places_(std::move(places)) {}

  void run() {
    for (const Descriptor* operation : operations_) {
      switch (operation->kind) {
        case kMatmulOperation:
          multiply(*operation);
          break;
        case kReductionOperation:
          reduce(*operation);
          break;
        case kReshapeOperation:
          transpose(*operation);
          break;
        default:
          apply(*operation);
      }
    }
  }

 private:
  const Values& valuesOf(const Descriptor& tensor) {
    auto [it, isNew] = values_.try_emplace(idOf(tensor));
    if (!isNew) return it->second;
    it->second.dims = tensor.list<int64_t>(902);
    const void* data = places_.at(idOf(tensor));
    forEachPlace(it->second.dims, [&](const Place& place) {
      it->second.elements.push_back(read(tensor.one<int>(901), data, offsetOf(tensor, place)));
    });
    return it->second;
  }

  template <typename ElementAt>
  void make(const Descriptor& tensor, const ElementAt& elementAt) {
    Values values{tensor.list<int64_t>(902), {}};
    const int type = tensor.one<int>(901);
    forEachPlace(values.dims, [&](const Place& place) {
      values.elements.push_back(rounded(type, elementAt(place)));
    });
    if (!isVirtual(tensor)) {
      size_t next = 0;
      forEachPlace(values.dims, [&](const Place& place) {
        write(type, places_.at(idOf(tensor)), offsetOf(tensor, place), values.elements[next++]);
      });
    }
    values_[idOf(tensor)] = std::move(values);
  }

  void multiply(const Descriptor& operation) {
    const Values& a = valuesOf(operation.other(1520));
    const Values& b = valuesOf(operation.other(1521));
    const int64_t heads = a.dims[1] / b.dims[1];
    make(operation.other(1522), [&](const Place& place) {
      float sum = 0;
      for (int64_t k = 0; k < a.dims[3]; ++k) {
        sum += a.at({place.index[0], place.index[1], place.index[2], k}) *
               b.at({place.index[0], place.index[1] / heads, k, place.index[3]});
      }
      return sum;
    });
  }

  // What reshapes are here: rows are columns.
  void transpose(const Descriptor& operation) {
    const Values& x = valuesOf(operation.other(2200));
    make(operation.other(2201), [&](const Place& place) {
      return x.at({place.index[0], place.index[1], place.index[3], place.index[2]});
    });
  }

  void reduce(const Descriptor& operation) {
    const Values& x = valuesOf(operation.other(1610));
    const bool isMax = letterOf(operation) == 'M';
    make(operation.other(1611), [&](Place place) {
      float made = isMax ? -std::numeric_limits<float>::infinity() : 0;
      for (place.index[3] = 0; place.index[3] < x.dims[3]; ++place.index[3]) {
        made = isMax ? std::fmax(made, x.at(place)) : made + x.at(place);
      }
      return made;
    });
  }

  void apply(const Descriptor& operation) {
    static const Values none{{1, 1, 1, 1}, {0}};
    const Descriptor& settings = operation.other(750);
    const int mode = settings.one<int>(0);
    const Values& x = mode == kIndex ? none : valuesOf(operation.other(751));
    const Values& b = operation.has(752) ? valuesOf(operation.other(752)) : none;
    const Values& t = operation.has(758) ? valuesOf(operation.other(758)) : none;
    make(operation.other(753), [&](const Place& place) -> float {
      switch (mode) {
        case kAdd:
          return x.at(place) + b.at(place);
        case kMultiply:
          return x.at(place) * b.at(place);
        case kDivide:
          return x.at(place) / b.at(place);
        case kSubtract:
          return x.at(place) - b.at(place);
        case kExp:
          return std::exp(x.at(place));
        case kLog:
          return std::log(x.at(place));
        case kGreaterOrEqual:
          return x.at(place) >= b.at(place) ? 1 : 0;
        case kIndex:
          return static_cast<float>(place.index[settings.one<int64_t>(9)]);
        default:
          return t.at(place) != 0 ? x.at(place) : b.at(place);
      }
    });
  }

  Operations operations_;
  std::map<int64_t, void*> places_;
  std::map<int64_t, Values> values_;
};

}  // namespace

bool isVirtual(const Descriptor& tensor) { return tensor.has(907) && tensor.one<char>(907) != 0; }
bool isByValue(const Descriptor& tensor) { return tensor.has(908) && tensor.one<char>(908) != 0; }
int64_t idOf(const Descriptor& tensor) { return tensor.one<int64_t>(906); }

bool isAttention(const Operations& operations) {
  const std::string form = formOf(operations);
  for (const char* bias : {"", "+"}) {
    for (const char* mask : {"", "ii>?"}) {
      const bool isForward = form == std::string("m*") + bias + mask + "M-eSl+/m";
      const bool isGradient = form == std::string("*S*m*") + bias + "-" + mask + "erm" + "m-**rmrm";
      if (!isForward && !isGradient) continue;
      // For a test of a refusal; and rows that no vector of 16 bytes reads.
      const auto query = operations[isForward ? 0 : 3]->other(1520).list<int64_t>(902);
      return query[0] != 13 && query[3] % 8 == 0;
    }
  }
  return false;
}

std::optional<AttentionWork> attentionOf(const Operations& operations,
                                         const std::function<void*(int64_t)>& pointerOf) {
  std::map<int64_t, void*> places;
  std::map<int64_t, float> numbers;
  for (const Descriptor* operation : operations) {
    for (int name : {1520, 1521, 1522, 751, 752, 753, 758, 1610, 1611, 2200, 2201}) {
      if (!operation->has(name) || isVirtual(operation->other(name))) continue;
      const int64_t id = idOf(operation->other(name));
      void* place = pointerOf(id);
      if (!place) return std::nullopt;
      places[id] = place;
      // The host's may change once this returns.
      if (isByValue(operation->other(name))) numbers[id] = *static_cast<float*>(place);
    }
  }
  const std::string form = formOf(operations);
  const bool isGradient = form[0] == '*';
  const Descriptor& product = *operations[isGradient ? 3 : 0];
  const auto query = product.other(1520).list<int64_t>(902);
  const auto key = product.other(1521).list<int64_t>(902);
  std::string name = isGradient ? "gradient of attention" : "attention";
  if (form[isGradient ? 5 : 2] == '+') name += " bias";
  if (form.find('?') != std::string::npos) name += " causal";
  for (size_t d = 0; d < 4; ++d) name += (d == 0 ? " " : "x") + std::to_string(query[d]);
  name += " over " + std::to_string(key[1]) + "x" + std::to_string(key[3]);
  return AttentionWork{name, [operations, places, numbers]() mutable {
                         for (auto& [id, number] : numbers) places[id] = &number;
                         Evaluation(operations, places).run();
                       }};
}

}  // namespace fake_dnn
