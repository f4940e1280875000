// Calls the callbacks and takes over their values and errors.
#include "pjrt/client/key_value_store.h"

#include <algorithm>
#include <limits>
#include <string>

#include "pjrt/entry.h"

namespace isthmus::pjrt {
namespace {

class CallbackStore final : public KeyValueStore {
 public:
  explicit CallbackStore(const PJRT_Client_Create_Args& args)
      : get_(args.kv_get_callback),
        getArg_(args.kv_get_user_arg),
        put_(args.kv_put_callback),
        putArg_(args.kv_put_user_arg) {
    using Args = PJRT_Client_Create_Args;
    tryGet_ = getOr<Args, PJRT_KeyValueTryGetCallback>(args, &Args::kv_try_get_callback, nullptr);
    tryGetArg_ = getOr<Args, void*>(args, &Args::kv_try_get_user_arg, nullptr);
  }

  StatusOr<std::string> get(const std::string& key, std::chrono::milliseconds timeout) override {
    PJRT_KeyValueGetCallback_Args args = {};
    args.struct_size = kPjrtStructSize<PJRT_KeyValueGetCallback_Args>;
    int64_t longest = std::numeric_limits<int>::max();
    args.timeout_in_ms = static_cast<int>(std::clamp<int64_t>(timeout.count(), 1, longest));
    return call(args, key, get_, getArg_);
  }

  StatusOr<std::string> tryGet(const std::string& key) override {
    // Callers of old versions have only the one that waits.
    if (tryGet_ == nullptr) {
      StatusOr<std::string> value = get(key, std::chrono::milliseconds(1));
      if (value.status().code() != StatusCode::kDeadlineExceeded) return value;
      return Status(StatusCode::kNotFound, std::string(value.status().message()));
    }
    PJRT_KeyValueTryGetCallback_Args args = {};
    args.struct_size = kPjrtStructSize<PJRT_KeyValueTryGetCallback_Args>;
    return call(args, key, tryGet_, tryGetArg_);
  }

  Status put(const std::string& key, std::string_view value) override {
    PJRT_KeyValuePutCallback_Args args = {};
    args.struct_size = kPjrtStructSize<PJRT_KeyValuePutCallback_Args>;
    args.key = key.data();
    args.key_size = key.size();
    args.value = value.data();
    args.value_size = value.size();
    args.callback_error = &makeError_;
    args.user_arg = putArg_;
    return takeStatus(put_(&args));
  }

 private:
  template <typename Args, typename Callback>
  StatusOr<std::string> call(Args& args, const std::string& key, Callback callback, void* userArg) {
    args.key = key.data();
    args.key_size = key.size();
    args.callback_error = &makeError_;
    args.user_arg = userArg;
    ISTHMUS_RETURN_IF_ERROR(takeStatus(callback(&args)));
    std::string value;
    if (args.value != nullptr) {
      value.assign(args.value, args.value_size);
      if (args.value_deleter_callback != nullptr) args.value_deleter_callback(args.value);
    }
    return value;
  }

  PJRT_KeyValueGetCallback get_;
  void* getArg_;
  PJRT_KeyValuePutCallback put_;
  void* putArg_;
  PJRT_KeyValueTryGetCallback tryGet_;
  void* tryGetArg_;
  PJRT_CallbackError makeError_ = &callbackError;
};

}  // namespace

StatusOr<std::shared_ptr<KeyValueStore>> makeKeyValueStore(const PJRT_Client_Create_Args& args) {
  if (args.kv_get_callback == nullptr || args.kv_put_callback == nullptr) {
    return invalidArgument(
        "PJRT_Client_Create: a client of several processes needs `kv_get_callback` and "
        "`kv_put_callback`");
  }
  return std::shared_ptr<KeyValueStore>(std::make_shared<CallbackStore>(args));
}

}  // namespace isthmus::pjrt
