// Handlers written against the interface's structures, called as a program calls them.
#include "runtime/ffi/call_site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/ffi/api.h"
#include "runtime/ffi/registry.h"

namespace isthmus::ffi {
namespace {

using testing::HasSubstr;

class Services final : public RunServices {
 public:
  int numThreads() const override { return 1; }
  void parallelFor(int64_t tiles, int64_t, TileFunction function, void* context) override {
    function(context, 0, tiles);
  }
  void* allocateScratch(size_t bytes) override {
    ++live;
    return std::aligned_alloc(64, (bytes + 64) / 64 * 64);
  }
  void freeScratch(void* data, size_t) override {
    --live;
    std::free(data);
  }
  Collectives& collectives() override { std::abort(); }
  int live = 0;
};

XLA_FFI_Error* makeError(const XLA_FFI_CallFrame* frame, const char* message, int code) {
  XLA_FFI_Error_Create_Args args{kXlaFfiStructSize<XLA_FFI_Error_Create_Args>, nullptr, message,
                                 code};
  return frame->api->XLA_FFI_Error_Create(&args);
}

// Answers the question for metadata as handlers do; false for a real call.
bool isMetadataCall(XLA_FFI_CallFrame* frame, int major = 0) {
  if (frame->extension_start == nullptr) return false;
  auto* extension = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
  extension->metadata->api_version.major_version = major;
  extension->metadata->api_version.minor_version = 3;
  return true;
}

const XLA_FFI_Buffer& argument(const XLA_FFI_CallFrame* frame, int index) {
  return *static_cast<const XLA_FFI_Buffer*>(frame->args.args[index]);
}
const XLA_FFI_Buffer& result(const XLA_FFI_CallFrame* frame, int index) {
  return *static_cast<const XLA_FFI_Buffer*>(frame->rets.rets[index]);
}

Handler typed(XLA_FFI_Handler* execute, XLA_FFI_Handler* instantiate = nullptr) {
  Handler handler;
  handler.bundle.execute = execute;
  handler.bundle.instantiate = instantiate;
  return handler;
}

CallSpec spec(std::string target, int64_t length = 3) {
  CallSpec call;
  call.target = target;
  call.description = "@" + target + " at here.py:1:2";
  call.operands = {{ElementType::kF32, {length}}};
  call.results = {{ElementType::kF32, {length}}};
  return call;
}

// Runs a call of one operand of floats; the results are floats too.
Status run(CallSite& site, std::vector<float>& in, std::vector<float>& out, Services& services,
           const UserData* userData = nullptr) {
  void* buffers[] = {in.data(), out.data()};
  return site.call({&services, userData, 2, 77}, buffers);
}

// y = a x + b, a and b attributes.
XLA_FFI_Error* scaleHandler(XLA_FFI_CallFrame* frame) {
  if (isMetadataCall(frame)) return nullptr;
  EXPECT_EQ(frame->stage, XLA_FFI_ExecutionStage_EXECUTE);
  EXPECT_EQ(frame->struct_size, 168u);
  EXPECT_EQ(frame->attrs.size, 4);
  // Sorted by name: a, b, list, text.
  auto scalar = [&](int i) {
    EXPECT_EQ(frame->attrs.types[i], XLA_FFI_AttrType_SCALAR);
    return *static_cast<float*>(static_cast<XLA_FFI_Scalar*>(frame->attrs.attrs[i])->value);
  };
  EXPECT_EQ(std::string(frame->attrs.names[0]->ptr, frame->attrs.names[0]->len), "a");
  auto* list = static_cast<XLA_FFI_Array*>(frame->attrs.attrs[2]);
  EXPECT_EQ(list->dtype, XLA_FFI_DataType_S16);
  EXPECT_EQ(list->size, 2u);
  EXPECT_EQ(static_cast<int16_t*>(list->data)[1], -5);
  auto* text = static_cast<XLA_FFI_ByteSpan*>(frame->attrs.attrs[3]);
  EXPECT_EQ(std::string(text->ptr, text->len), "hello");

  const XLA_FFI_Buffer& x = argument(frame, 0);
  const XLA_FFI_Buffer& y = result(frame, 0);
  EXPECT_EQ(x.dtype, XLA_FFI_DataType_F32);
  EXPECT_EQ(x.rank, 1);
  for (int64_t i = 0; i < x.dims[0]; ++i) {
    static_cast<float*>(y.data)[i] = scalar(0) * static_cast<float*>(x.data)[i] + scalar(1);
  }
  return nullptr;
}

template <typename T>
Attribute scalarAttribute(std::string name, ElementType type, T value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = type;
  attribute.bytes = std::string(reinterpret_cast<const char*>(&value), sizeof(value));
  return attribute;
}

TEST(CallSite, PassesBuffersAndAttributes) {
  ASSERT_TRUE(registerHandler("scale", "cpu", typed(scaleHandler)).ok());
  CallSpec call = spec("scale");
  int16_t numbers[] = {7, -5};
  Attribute list{"list",
                 Attribute::Kind::kArray,
                 ElementType::kS16,
                 std::string(reinterpret_cast<const char*>(numbers), sizeof(numbers)),
                 {}};
  Attribute text{"text", Attribute::Kind::kString, ElementType::kInvalid, "hello", {}};
  call.attributes = {text, scalarAttribute("b", ElementType::kF32, 0.5f), list,
                     scalarAttribute("a", ElementType::kF32, 2.0f)};
  auto site = CallSite::create(call);
  ASSERT_TRUE(site.ok()) << site.status().message();
  Services services;
  std::vector<float> in = {1, 2, 3}, out(3);
  ASSERT_TRUE(run(**site, in, out, services).ok());
  EXPECT_EQ(out, (std::vector<float>{2.5, 4.5, 6.5}));
}

TEST(CallSite, UnknownTargetNamesItself) {
  auto site = CallSite::create(spec("nobody"));
  EXPECT_EQ(site.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(site.status().message()), HasSubstr("@nobody at here.py:1:2"));
}

TEST(CallSite, ErrorsComeBackWithTheirCode) {
  ASSERT_TRUE(registerHandler("failing", "isthmus", typed([](XLA_FFI_CallFrame* frame) {
                                return isMetadataCall(frame) ? nullptr
                                                             : makeError(frame, "no such luck", 9);
                              }))
                  .ok());
  auto site = CallSite::create(spec("failing"));
  ASSERT_TRUE(site.ok());
  Services services;
  std::vector<float> in(3), out(3);
  Status status = run(**site, in, out, services);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "@failing at here.py:1:2: no such luck");
}

TEST(Registry, OwnPlatformComesFirst) {
  XLA_FFI_Handler* first = [](XLA_FFI_CallFrame* frame) -> XLA_FFI_Error* {
    isMetadataCall(frame);
    return nullptr;
  };
  ASSERT_TRUE(registerHandler("twice", "Host", typed(scaleHandler)).ok());
  EXPECT_EQ(findHandler("twice")->bundle.execute, &scaleHandler);
  ASSERT_TRUE(registerHandler("twice", "isthmus", typed(first)).ok());
  EXPECT_EQ(findHandler("twice")->bundle.execute, first);
  // The same again is fine, others are not.
  EXPECT_TRUE(registerHandler("twice", "ISTHMUS", typed(first)).ok());
  EXPECT_EQ(registerHandler("twice", "isthmus", typed(scaleHandler)).code(),
            StatusCode::kAlreadyExists);
  EXPECT_FALSE(findHandler("of another platform"));
  ASSERT_TRUE(registerHandler("of another platform", "CUDA", typed(first)).ok());
  EXPECT_FALSE(findHandler("of another platform"));
}

TEST(Registry, RefusesOtherMajorVersions) {
  Status status = registerHandler("newer", "cpu", typed([](XLA_FFI_CallFrame* frame) {
                                    isMetadataCall(frame, 1);
                                    return static_cast<XLA_FFI_Error*>(nullptr);
                                  }));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1.3"));
  EXPECT_FALSE(registerHandler("empty", "cpu", Handler()).ok());
}

// ---- State

struct Counter {
  int calls = 0;
};
std::atomic<int> liveCounters{0};
XLA_FFI_TypeId counterId{0};

XLA_FFI_Error* makeCounter(XLA_FFI_CallFrame* frame) {
  EXPECT_EQ(frame->stage, XLA_FFI_ExecutionStage_INSTANTIATE);
  ++liveCounters;
  XLA_FFI_State_Args args{kXlaFfiStructSize<XLA_FFI_State_Args>, nullptr,    frame->ctx,
                          XLA_FFI_ExecutionStage_INSTANTIATE,    &counterId, new Counter};
  return frame->api->XLA_FFI_State_Set(&args);
}

XLA_FFI_Error* count(XLA_FFI_CallFrame* frame) {
  if (isMetadataCall(frame)) return nullptr;
  XLA_FFI_State_Args args{kXlaFfiStructSize<XLA_FFI_State_Args>, nullptr,    frame->ctx,
                          XLA_FFI_ExecutionStage_INSTANTIATE,    &counterId, nullptr};
  if (XLA_FFI_Error* error = frame->api->XLA_FFI_State_Get(&args)) return error;
  *static_cast<float*>(result(frame, 0).data) =
      static_cast<float>(++static_cast<Counter*>(args.state)->calls);
  return nullptr;
}

TEST(CallSite, KeepsStateOfEachCallSite) {
  XLA_FFI_TypeInfo info{kXlaFfiStructSize<XLA_FFI_TypeInfo>, nullptr, [](void* object) {
                          --liveCounters;
                          delete static_cast<Counter*>(object);
                        }};
  XLA_FFI_Type_Register_Args args{sizeof(args), nullptr, {"Counter", 7}, &counterId, &info};
  ASSERT_EQ(api().XLA_FFI_Type_Register(&args), nullptr);
  EXPECT_NE(counterId.type_id, 0);
  ASSERT_TRUE(registerHandler("count", "cpu", typed(count, makeCounter)).ok());
  {
    auto first = CallSite::create(spec("count", 1));
    auto second = CallSite::create(spec("count", 1));
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(liveCounters, 2);
    Services services;
    std::vector<float> in(1), out(1);
    for (int i = 1; i <= 3; ++i) {
      ASSERT_TRUE(run(**first, in, out, services).ok());
      EXPECT_EQ(out[0], i);
    }
    ASSERT_TRUE(run(**second, in, out, services).ok());
    EXPECT_EQ(out[0], 1);
  }
  EXPECT_EQ(liveCounters, 0);
}

TEST(Registry, TypesKeepTheirIds) {
  StatusOr<int64_t> first = registerType("First", 0, nullptr);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(*registerType("First", 0, nullptr), *first);
  EXPECT_EQ(*registerType("First", *first, nullptr), *first);
  EXPECT_FALSE(registerType("First", *first + 1, nullptr).ok());
  EXPECT_FALSE(registerType("Second", *first, nullptr).ok());
  EXPECT_EQ(*registerType("Third", 42, nullptr), 42);
}

// ---- Context

int64_t wantedId = 0;

XLA_FFI_Error* readContext(XLA_FFI_CallFrame* frame) {
  if (isMetadataCall(frame)) return nullptr;
  XLA_FFI_TypeId id{wantedId};
  XLA_FFI_InvokeContext_Get_Args get{kXlaFfiStructSize<XLA_FFI_InvokeContext_Get_Args>, nullptr,
                                     frame->ctx, &id, nullptr};
  if (XLA_FFI_Error* error = frame->api->XLA_FFI_InvokeContext_Get(&get)) return error;
  auto* out = static_cast<float*>(result(frame, 0).data);
  out[0] = *static_cast<float*>(get.data);
  XLA_FFI_DeviceOrdinal_Get_Args device{kXlaFfiStructSize<XLA_FFI_DeviceOrdinal_Get_Args>, nullptr,
                                        frame->ctx, -1};
  EXPECT_EQ(frame->api->XLA_FFI_DeviceOrdinal_Get(&device), nullptr);
  out[1] = static_cast<float>(device.device_ordinal);
  XLA_FFI_RunId_Get_Args runId{kXlaFfiStructSize<XLA_FFI_RunId_Get_Args>, nullptr, frame->ctx, -1};
  EXPECT_EQ(frame->api->XLA_FFI_RunId_Get(&runId), nullptr);
  out[2] = static_cast<float>(runId.run_id);
  return nullptr;
}

TEST(CallSite, HandsOverUserData) {
  ASSERT_TRUE(registerHandler("context", "cpu", typed(readContext)).ok());
  auto site = CallSite::create(spec("context"));
  ASSERT_TRUE(site.ok());
  Services services;
  std::vector<float> in(3), out(3);
  float datum = 1.5, other = 2.5;
  auto data = Ref<LaunchUserData>::adopt(new LaunchUserData);
  ASSERT_TRUE(data->add(11, &datum));
  ASSERT_TRUE(data->add(12, &other));
  EXPECT_FALSE(data->add(12, &datum));
  wantedId = 12;
  ASSERT_TRUE(run(**site, in, out, services, data.get()).ok());
  EXPECT_EQ(out, (std::vector<float>{2.5, 2, 77}));
  wantedId = 13;
  EXPECT_EQ(run(**site, in, out, services, data.get()).code(), StatusCode::kNotFound);
  EXPECT_EQ(run(**site, in, out, services).code(), StatusCode::kNotFound);
}

XLA_FFI_Error* allocate(XLA_FFI_CallFrame* frame) {
  if (isMetadataCall(frame)) return nullptr;
  for (size_t alignment : {1, 64, 4096}) {
    XLA_FFI_DeviceMemory_Allocate_Args args{kXlaFfiStructSize<XLA_FFI_DeviceMemory_Allocate_Args>,
                                            nullptr,
                                            frame->ctx,
                                            100,
                                            alignment,
                                            nullptr};
    if (XLA_FFI_Error* error = frame->api->XLA_FFI_DeviceMemory_Allocate(&args)) return error;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(args.data) % alignment, 0u);
    std::memset(args.data, 1, 100);
    if (alignment != 64) continue;  // the others are left to the end of the call
    XLA_FFI_DeviceMemory_Free_Args freeing{kXlaFfiStructSize<XLA_FFI_DeviceMemory_Free_Args>,
                                           nullptr, frame->ctx, 100, args.data};
    EXPECT_EQ(frame->api->XLA_FFI_DeviceMemory_Free(&freeing), nullptr);
    if (XLA_FFI_Error* twice = frame->api->XLA_FFI_DeviceMemory_Free(&freeing)) {
      XLA_FFI_Error_Destroy_Args destroy{sizeof(destroy), nullptr, twice};
      frame->api->XLA_FFI_Error_Destroy(&destroy);
    } else {
      ADD_FAILURE() << "memory was freed twice";
    }
  }
  return nullptr;
}

TEST(CallSite, FreesWhatHandlersForget) {
  ASSERT_TRUE(registerHandler("allocate", "cpu", typed(allocate)).ok());
  auto site = CallSite::create(spec("allocate"));
  ASSERT_TRUE(site.ok());
  Services services;
  std::vector<float> in(3), out(3);
  Status status = run(**site, in, out, services);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(services.live, 0);
}

// ---- Threads and futures

XLA_FFI_Error* finishLater(XLA_FFI_CallFrame* frame) {
  if (isMetadataCall(frame)) return nullptr;
  XLA_FFI_Future_Create_Args create{sizeof(create), nullptr, nullptr};
  EXPECT_EQ(frame->api->XLA_FFI_Future_Create(&create), nullptr);
  frame->future = create.future;
  auto* out = static_cast<float*>(result(frame, 0).data);
  const XLA_FFI_Api* functions = frame->api;
  bool fails = *static_cast<float*>(argument(frame, 0).data) < 0;
  std::thread([=, future = create.future] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    out[0] = 3;
    if (fails) {
      XLA_FFI_Error_Create_Args error{sizeof(error), nullptr, "too late", 4};
      XLA_FFI_Future_SetError_Args args{sizeof(args), nullptr, future,
                                        functions->XLA_FFI_Error_Create(&error)};
      EXPECT_EQ(functions->XLA_FFI_Future_SetError(&args), nullptr);
    } else {
      XLA_FFI_Future_SetAvailable_Args args{sizeof(args), nullptr, future};
      EXPECT_EQ(functions->XLA_FFI_Future_SetAvailable(&args), nullptr);
    }
  }).detach();
  return nullptr;
}

TEST(CallSite, WaitsForFutures) {
  ASSERT_TRUE(registerHandler("later", "cpu", typed(finishLater)).ok());
  auto site = CallSite::create(spec("later", 1));
  ASSERT_TRUE(site.ok());
  Services services;
  std::vector<float> in = {1}, out(1);
  ASSERT_TRUE(run(**site, in, out, services).ok());
  EXPECT_EQ(out[0], 3);
  in[0] = -1;
  Status status = run(**site, in, out, services);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("too late"));
}

// Each task but the first waits for the one after it: they need a thread each.
struct Chain {
  std::atomic<int> done{0};
  std::atomic<int> next{0};
};
constexpr int kChainLength = 40;

void chainTask(void* data) {
  auto& chain = *static_cast<Chain*>(data);
  int number = chain.next++;
  while (number + 1 < kChainLength && chain.next <= number + 1) std::this_thread::yield();
  ++chain.done;
}

XLA_FFI_Error* scheduleChain(XLA_FFI_CallFrame* frame) {
  if (isMetadataCall(frame)) return nullptr;
  Chain chain;
  for (int i = 0; i < kChainLength; ++i) {
    XLA_FFI_ThreadPool_Schedule_Args args{kXlaFfiStructSize<XLA_FFI_ThreadPool_Schedule_Args>,
                                          nullptr, frame->ctx, chainTask, &chain};
    if (XLA_FFI_Error* error = frame->api->XLA_FFI_ThreadPool_Schedule(&args)) return error;
  }
  while (chain.done < kChainLength) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return nullptr;
}

TEST(CallSite, TasksThatWaitForEachOtherEnd) {
  ASSERT_TRUE(registerHandler("chain", "cpu", typed(scheduleChain)).ok());
  auto site = CallSite::create(spec("chain"));
  ASSERT_TRUE(site.ok());
  Services services;
  std::vector<float> in(3), out(3);
  EXPECT_TRUE(run(**site, in, out, services).ok());
}

// ---- The older signatures, aliases and tokens

void addTen(void* out, const void** in) {
  *static_cast<float*>(out) = *static_cast<const float*>(in[0]) + 10;
}
void reportFailure(void*, const void**, const char* opaque, size_t size, void* status) {
  *static_cast<std::optional<std::string>*>(status) = "failed with " + std::string(opaque, size);
}

TEST(CallSite, CallsUntypedFunctions) {
  Handler plain, unified;
  plain.untyped = reinterpret_cast<void*>(addTen);
  unified.untyped = reinterpret_cast<void*>(reportFailure);
  ASSERT_TRUE(registerHandler("add_ten", "cpu", plain).ok());
  ASSERT_TRUE(registerHandler("unified", "cpu", unified).ok());
  CallSpec call = spec("add_ten", 1);
  EXPECT_FALSE(CallSite::create(call).ok()) << "a typed call of an untyped function";
  call.version = CallVersion::kOriginal;
  auto site = CallSite::create(call);
  ASSERT_TRUE(site.ok());
  Services services;
  std::vector<float> in = {1}, out(1);
  ASSERT_TRUE(run(**site, in, out, services).ok());
  EXPECT_EQ(out[0], 11);
  call.target = "unified";
  call.version = CallVersion::kUnified;
  call.opaque = "config";
  auto failing = CallSite::create(call);
  ASSERT_TRUE(failing.ok());
  EXPECT_THAT(std::string(run(**failing, in, out, services).message()),
              HasSubstr("failed with config"));
}

TEST(CallSite, AliasedOperandsAreTheResult) {
  ASSERT_TRUE(registerHandler("in_place", "cpu", typed([](XLA_FFI_CallFrame* frame) {
                                if (isMetadataCall(frame))
                                  return static_cast<XLA_FFI_Error*>(nullptr);
                                EXPECT_EQ(frame->args.size, 2);
                                EXPECT_EQ(argument(frame, 0).dtype, XLA_FFI_DataType_TOKEN);
                                EXPECT_EQ(argument(frame, 1).data, result(frame, 0).data);
                                *static_cast<float*>(result(frame, 0).data) += 1;
                                return static_cast<XLA_FFI_Error*>(nullptr);
                              }))
                  .ok());
  CallSpec call = spec("in_place", 1);
  call.operands.insert(call.operands.begin(), ArrayType{ElementType::kToken, {}});
  call.aliases = {{1, 0}};
  auto site = CallSite::create(call);
  ASSERT_TRUE(site.ok());
  Services services;
  std::vector<float> in = {1}, out(1);
  ASSERT_TRUE(run(**site, in, out, services).ok());
  EXPECT_EQ(in[0], 1);
  EXPECT_EQ(out[0], 2);
}

}  // namespace
}  // namespace isthmus::ffi
