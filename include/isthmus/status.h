// The one error type of the project: a PJRT error code and a message.
//
// Nothing in Isthmus throws across a library edge and nothing aborts on what a caller can cause:
// a function that can fail returns Status, or StatusOr<T> when it also has a result. A message is
// lower-case, says what was wrong, where, what was got and what was expected. An internal error is
// a defect of ours, and knows besides which line of the sources made it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace isthmus {

// The values are those of PJRT_Error_Code, which are the gRPC status codes.
enum class StatusCode : int32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// A line of the sources; `file` lives as long as the process.
struct SourcePlace {
  const char* file = nullptr;  // null: none
  int line = 0;
};

// Success costs one null pointer. Copies share the message, so an error can travel through many
// events and buffers. Immutable, hence safe to share between threads.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message, SourcePlace place = {}) {
    if (code != StatusCode::kOk) {
      rep_ = std::make_shared<const Rep>(Rep{code, std::move(message), place});
    }
  }

  bool ok() const { return rep_ == nullptr; }
  StatusCode code() const { return rep_ ? rep_->code : StatusCode::kOk; }
  std::string_view message() const { return rep_ ? std::string_view(rep_->message) : ""; }

  // What made it; of errors of internalError() only.
  SourcePlace place() const { return rep_ ? rep_->place : SourcePlace(); }
  // For those who cannot ask for the place: "the message (compiler/plan/liveness.cc:12)".
  std::string messageWithPlace() const {
    std::string text(message());
    if (place().file == nullptr) return text;
    return text + " (" + place().file + ":" + std::to_string(place().line) + ")";
  }

  // The same error, made at the same place, in other words; success stays success.
  Status withMessage(std::string message) const {
    return ok() ? *this : Status(code(), std::move(message), rep_->place);
  }
  // The same error with `context` and ": " in front of its message; success stays success.
  Status withContext(std::string_view context) const {
    return ok() ? *this : withMessage(std::string(context) + ": " + rep_->message);
  }

 private:
  struct Rep {
    StatusCode code;
    std::string message;
    SourcePlace place;
  };
  std::shared_ptr<const Rep> rep_;
};

// A value, or the error that explains why there is none. `value()` and the operators may be called
// only if `ok()`.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(T value) : value_(std::move(value)) {}
  StatusOr(Status status) : status_(std::move(status)) {
    if (status_.ok()) status_ = Status(StatusCode::kInternal, "StatusOr made from an OK status");
  }
  template <typename U>
    requires(std::is_convertible_v<U, T> && !std::is_same_v<std::decay_t<U>, StatusOr> &&
             !std::is_convertible_v<U, Status>)
  StatusOr(U&& value) : value_(std::forward<U>(value)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

namespace internal {
template <typename... Parts>
std::string concatenate(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// `file` from the root of the sources on: whoever compiles has this header's path as its beginning.
// Of sources elsewhere the name alone, so that no message has a path of the machine that compiled.
constexpr const char* sourceFile(const char* file) {
  constexpr std::string_view kHeader = __FILE__, kFromRoot = "include/isthmus/status.h";
  constexpr std::string_view kRoot = kHeader.ends_with(kFromRoot)
                                         ? kHeader.substr(0, kHeader.size() - kFromRoot.size())
                                         : std::string_view("/");
  const std::string_view path = file;
  if (!kRoot.empty() && path.starts_with(kRoot)) return file + kRoot.size();
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? file : file + slash + 1;
}

// The beginning of a message, and the line that says it.
struct PlacedPart {
  template <typename T>
  PlacedPart(const T& part, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : text(concatenate(part)), place{sourceFile(file), line} {}

  std::string text;
  SourcePlace place;
};
}  // namespace internal

// Each makes an error of its code; the arguments are streamed into the message.
template <typename... P>
Status invalidArgument(const P&... parts) {
  return Status(StatusCode::kInvalidArgument, internal::concatenate(parts...));
}
template <typename... P>
Status unimplemented(const P&... parts) {
  return Status(StatusCode::kUnimplemented, internal::concatenate(parts...));
}
template <typename... P>
Status internalError(const internal::PlacedPart& first, const P&... parts) {
  return Status(StatusCode::kInternal, internal::concatenate(first.text, parts...), first.place);
}
template <typename... P>
Status failedPrecondition(const P&... parts) {
  return Status(StatusCode::kFailedPrecondition, internal::concatenate(parts...));
}
template <typename... P>
Status resourceExhausted(const P&... parts) {
  return Status(StatusCode::kResourceExhausted, internal::concatenate(parts...));
}
template <typename... P>
Status notFound(const P&... parts) {
  return Status(StatusCode::kNotFound, internal::concatenate(parts...));
}

}  // namespace isthmus

#define ISTHMUS_CONCAT_IMPL_(a, b) a##b
#define ISTHMUS_CONCAT_(a, b) ISTHMUS_CONCAT_IMPL_(a, b)

// Returns from the enclosing function if `expr` (a Status) is an error.
#define ISTHMUS_RETURN_IF_ERROR(expr)                        \
  do {                                                       \
    if (::isthmus::Status status_ = (expr); !status_.ok()) { \
      return status_;                                        \
    }                                                        \
  } while (false)

// Evaluates `expr` (a StatusOr) and either returns its error or moves its value into `lhs`.
#define ISTHMUS_ASSIGN_OR_RETURN(lhs, expr) \
  ISTHMUS_ASSIGN_OR_RETURN_IMPL_(ISTHMUS_CONCAT_(statusOr_, __LINE__), lhs, expr)
#define ISTHMUS_ASSIGN_OR_RETURN_IMPL_(temporary, lhs, expr) \
  auto temporary = (expr);                                   \
  if (!temporary.ok()) return temporary.status();            \
  lhs = std::move(temporary).value()
