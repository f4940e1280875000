// Handlers for ffi_test.py, compiled against the headers in the jaxlib wheel.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

// ---- Buffers and attributes

// out = x * scale + offset, for every shape of f32.
static ffi::Error affine(float scale, double offset, ffi::Buffer<ffi::F32> x,
                         ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    y->typed_data()[i] = x.typed_data()[i] * scale + static_cast<float>(offset);
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Affine, affine,
                              ffi::Ffi::Bind()
                                  .Attr<float>("scale")
                                  .Attr<double>("offset")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

// The sum of an array, a dictionary's entry, and the lengths of two strings.
static ffi::Error attributes(ffi::Span<const int64_t> array, std::string_view text, bool flag,
                             ffi::Dictionary nested, ffi::ResultBufferR1<ffi::S64> out) {
  auto inner = nested.get<int32_t>("inner");
  if (inner.has_error()) return inner.error();
  auto word = nested.get<std::string_view>("word");
  if (word.has_error()) return word.error();
  out->typed_data()[0] = std::accumulate(array.begin(), array.end(), int64_t{0});
  out->typed_data()[1] = static_cast<int64_t>(text.size());
  out->typed_data()[2] = flag ? 1 : 0;
  out->typed_data()[3] = *inner;
  out->typed_data()[4] = static_cast<int64_t>(word->size());
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Attributes, attributes,
                              ffi::Ffi::Bind()
                                  .Attr<ffi::Span<const int64_t>>("array")
                                  .Attr<std::string_view>("text")
                                  .Attr<bool>("flag")
                                  .Attr<ffi::Dictionary>("nested")
                                  .Ret<ffi::BufferR1<ffi::S64>>());

// Copies bytes, whatever their type; the shape of any number of arguments and results.
static ffi::Error copyAll(ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  if (arguments.size() != results.size()) return ffi::Error::InvalidArgument("unequal numbers");
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto x = arguments.get<ffi::AnyBuffer>(i);
    auto y = results.get<ffi::AnyBuffer>(i);
    if (x.has_error()) return x.error();
    if (y.has_error()) return y.error();
    if (x->element_type() != (*y)->element_type() || x->size_bytes() != (*y)->size_bytes()) {
      return ffi::Error::InvalidArgument("unequal types");
    }
    std::memcpy((*y)->untyped_data(), x->untyped_data(), x->size_bytes());
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(CopyAll, copyAll, ffi::Ffi::Bind().RemainingArgs().RemainingRets());

// Adds one where it is, and says whether that was one place.
static ffi::Error addInPlace(ffi::Buffer<ffi::S32> x, ffi::ResultBuffer<ffi::S32> y,
                             ffi::ResultBufferR0<ffi::PRED> isOne) {
  isOne->typed_data()[0] = x.untyped_data() == y->untyped_data();
  for (size_t i = 0; i < y->element_count(); ++i) y->typed_data()[i] += 1;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(AddInPlace, addInPlace,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::BufferR0<ffi::PRED>>());

// ---- Errors

static ffi::Error fail(std::string_view message) {
  return ffi::Error(ffi::ErrorCode::kOutOfRange, std::string(message));
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Fail, fail, ffi::Ffi::Bind().Attr<std::string_view>("message"));

// ---- State

struct Counter {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  static std::atomic<int64_t> alive;
  explicit Counter(int64_t first) : next(first) { ++alive; }
  ~Counter() { --alive; }
  std::atomic<int64_t> next;
};
ffi::TypeId Counter::id = {};
ffi::TypeInfo Counter::info = ffi::MakeTypeInfo<Counter>();
std::atomic<int64_t> Counter::alive = 0;

extern "C" void* counterTypeId() { return &Counter::id; }
extern "C" void* counterTypeInfo() { return &Counter::info; }
extern "C" int64_t countersAlive() { return Counter::alive; }

static ffi::ErrorOr<std::unique_ptr<Counter>> makeCounter(int64_t first) {
  if (first < 0) return ffi::Unexpected(ffi::Error::InvalidArgument("counters start at 0"));
  return std::make_unique<Counter>(first);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(CounterInstantiate, makeCounter,
                              ffi::Ffi::BindInstantiate().Attr<int64_t>("first"));

static ffi::Error count(Counter* counter, ffi::ResultBufferR0<ffi::S64> out) {
  out->typed_data()[0] = counter->next++;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    CounterExecute, count,
    ffi::Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<ffi::BufferR0<ffi::S64>>());

// ---- Contexts

// Uses scratch memory, and threads that end after it has returned.
static ffi::Future sumOnThreads(ffi::ScratchAllocator scratch, ffi::ThreadPool pool, int32_t device,
                                ffi::RunId, bool fails, ffi::Buffer<ffi::F32> x,
                                ffi::ResultBufferR0<ffi::F32> sum,
                                ffi::ResultBufferR0<ffi::S32> place) {
  place->typed_data()[0] = device;
  ffi::Promise promise;
  ffi::Future future(promise);
  auto memory = scratch.Allocate(x.size_bytes(), 64);
  if (!memory || pool.num_threads() < 1) {
    promise.SetError(ffi::Error::Internal("no memory or no threads"));
    return future;
  }
  std::memcpy(*memory, x.untyped_data(), x.size_bytes());
  auto* values = static_cast<float*>(*memory);
  for (size_t i = 0; i < x.element_count(); ++i) values[i] *= 2;
  // The handler's scratch memory is gone when the work runs, the buffers are not.
  float total = std::accumulate(values, values + x.element_count(), 0.0f);
  pool.Schedule([=]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (fails) {
      promise.SetError(ffi::Error(ffi::ErrorCode::kUnavailable, "failed later"));
      return;
    }
    sum->typed_data()[0] = total;
    promise.SetAvailable();
  });
  return future;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(SumOnThreads, sumOnThreads,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ScratchAllocator>()
                                  .Ctx<ffi::ThreadPool>()
                                  .Ctx<ffi::DeviceOrdinal>()
                                  .Ctx<ffi::RunId>()
                                  .Attr<bool>("fails")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::BufferR0<ffi::F32>>()
                                  .Ret<ffi::BufferR0<ffi::S32>>());

// ---- The older, untyped signature

extern "C" void untypedDouble(void* out, const void** in) {
  *static_cast<float*>(out) = 2 * *static_cast<const float*>(in[0]);
}
