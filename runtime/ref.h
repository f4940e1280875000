// Intrusive reference counting: one allocation per object, one pointer per handle.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace isthmus {

// Base of objects that `Ref` counts. An object starts with one reference, which `makeRef` or
// `adoptRef` hands to a Ref. `T` is the class that is deleted when the last reference goes.
template <typename T>
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void addReference() const { references_.fetch_add(1, std::memory_order_relaxed); }
  void dropReference() const {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete static_cast<const T*>(this);
  }
  // True if the caller's reference is the only one. Only meaningful if no other thread can make
  // one from elsewhere.
  bool isUnique() const { return references_.load(std::memory_order_acquire) == 1; }

 protected:
  ~RefCounted() = default;

 private:
  mutable std::atomic<int32_t> references_{1};
};

// Owns one reference; copying shares the object. Not itself safe to change from two threads.
template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  // Shares an object that somebody else keeps alive during the call.
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->addReference();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <typename U>
    requires(std::is_convertible_v<U*, T*>)
  Ref(Ref<U> other) : object_(other.detach()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->dropReference();
  }

  // Takes over a reference that the caller owns.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  // Gives the reference to the caller, who must `adopt` it or drop it.
  T* detach() { return std::exchange(object_, nullptr); }
  void reset() { *this = Ref(); }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ref& other) const { return object_ == other.object_; }

 private:
  T* object_ = nullptr;
};

template <typename T, typename... Args>
Ref<T> makeRef(Args&&... args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

}  // namespace isthmus
