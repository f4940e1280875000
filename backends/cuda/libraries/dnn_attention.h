// Attention as plain data, in the words of the attention itself.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda/libraries/dnn_convolution.h"

namespace isthmus::cuda {

// Between neighbours of an array along each dimension but the last, whose elements are side by
// side. In elements; 0 where elements repeat.
struct DnnStrides {
  int64_t batch = 0, head = 0, row = 0;

  auto operator<=>(const DnnStrides&) const = default;
};

// Where the gradients are among the results of a call.
struct DnnGradientPlaces {
  int8_t query = 0, key = 1, value = 2;

  auto operator<=>(const DnnGradientPlaces&) const = default;
  // Whether these are the numbers 0, 1 and 2.
  bool areAll() const {
    return query >= 0 && key >= 0 && value >= 0 && query + key + value == 3 && query != key &&
           key != value && query != value;
  }
};

// result[b, h, i] = sum over j of weights[b, h, i, j] value[b, h / group, j], where the weights are
// the softmax by rows of scale * (query[b, h, i] . key[b, h / group, j]) + bias[b, h, i, j]. Scores
// are in f32; weights are rounded to the type before they are multiplied. Or the gradients of
// queries, keys and values, by these and the gradient of the result.
struct DnnAttention {
  bool isGradient = false;
  DnnType type = DnnType::kBf16;
  int64_t batch = 1;
  int64_t heads = 1, group = 1;  // of queries; those that share keys and values
  int64_t rows = 1, keys = 1;
  int64_t sums = 1, features = 1;        // of a query and a key; of a value and a result
  DnnStrides query, key, value, result;  // of a gradient: the result's is an operand
  DnnStrides queryGradient, keyGradient, valueGradient;
  DnnGradientPlaces places;
  double scale = 1;
  bool isCausal = false;  // keys j > i have no weight
  bool hasBias = false;
  DnnType biasType = DnnType::kF32;
  DnnStrides bias;

  auto operator<=>(const DnnAttention&) const = default;
  // That arrays reach over: queries, keys, values, the bias if there is one, and the result; of a
  // gradient these, and the three gradients as their places say.
  std::vector<int64_t> bufferBytes() const;
  // "a causal attention of bf16[4,16,2048,128] over [4,16,2048,128]".
  std::string toString() const;
};

// Whether all numbers are possible and agree, and no array reaches over 2^31 elements.
bool isValid(const DnnAttention& attention);

}  // namespace isthmus::cuda
