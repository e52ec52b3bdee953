// SPDX-License-Identifier: BSL-1.0
// What goes through the state of optimizers and others (visit_state) to keep it as tensors by name, or put it back.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/io/state_dict.hpp>
#include <kiln/nn/members.hpp>

namespace kiln::io::detail {

/// Keeps what parts of a run show, compares it with what was kept, or writes it there. The functions that parts call
/// are described at optim::parameter_groups::visit_state. What is written is undone when this ends without commit().
class state_visitor {
 public:
  enum class mode { keep, compare, write };
  state_visitor(tensor_map& kept, mode how) : kept_(kept), how_(how) {}
  state_visitor(const state_visitor&) = delete;
  state_visitor& operator=(const state_visitor&) = delete;
  ~state_visitor() {
    while (!undo_.empty()) {
      undo_.back()();
      undo_.pop_back();
    }
  }
  /// Writes the tensors, for which all memory is there, and keeps the rest. On a GPU a copy may still fail.
  void commit() {
    for (const auto& write : at_commit_) write();
    undo_.clear();
  }
  /// Makes something `value`, until it is undone.
  template <class X>
  void set(X& to, X value) {
    undo_.emplace_back([&to, before = to]() mutable { to = std::move(before); });
    to = std::move(value);
  }
  /// Does something in commit(), after the tensors that were visited before. It must not throw.
  template <class F>
  void then(F f) {
    at_commit_.emplace_back(std::move(f));
  }

  bool reads() const { return how_ != mode::keep; }
  bool writes() const { return how_ == mode::write; }
  /// What the names of the next part begin with.
  void begin(std::string prefix) { prefix_ = std::move(prefix); }
  /// One line for each thing that does not fit.
  const std::string& problems() const { return problems_; }
  const std::set<std::string>& used() const { return used_; }
  void misfit(std::string_view name, const std::string& what) {
    problems_ += "\n  " + prefix_ + std::string(name) + ": " + what;
  }

  /// A number; an enumeration is one too.
  template <class N>
    requires(std::is_arithmetic_v<N> || std::is_enum_v<N>)
  void operator()(std::string_view name, N& value) {
    using T = std::conditional_t<std::is_floating_point_v<N>, double, std::int64_t>;
    T number = static_cast<T>(value);
    scalars(name, &number, dims{}, writes());
    if (writes()) set(value, static_cast<N>(number));
  }
  /// A number that must have a property, `what` in words.
  template <class N, class Predicate>
  void checked(std::string_view name, N& value, Predicate has, const char* what) {
    N number = value;
    const std::size_t known = problems_.size();
    scalars(name, &number, dims{}, reads());
    if (reads() && known == problems_.size() && !has(number))
      return misfit(name, message("in the file ", number, ", which is not ", what));
    if (writes()) set(value, number);
  }
  /// A number of steps or the like.
  void counter(std::string_view name, std::int64_t& value) {
    checked(
        name, value, [](std::int64_t n) { return n >= 0 && n <= std::int64_t{1} << 53; }, "from 0 to 2^53");
  }
  template <class N, std::size_t Size>
  void operator()(std::string_view name, std::array<N, Size>& values) {
    for (std::size_t i = 0; i < Size; ++i) (*this)(std::string(name) + "." + std::to_string(i), values[i]);
  }
  template <class N>
  void list(std::string_view name, std::vector<N>& values) {
    if (reads()) {
      const array* const found = find(name);
      if (!found) return;
      if (found->dtype() != dtype_of<N> || found->sizes().rank() != 1) return misfit(name, "no list of numbers");
      const auto all = found->contiguous().template as<N>();
      values.assign(all.data(), all.data() + all.numel());
    } else {
      kept_.insert_or_assign(prefix_ + std::string(name), array(tensor(values)));
    }
  }
  template <class Options>
  void members(const std::string& prefix, Options& options) {
    nn::detail::each_member(options, [&](std::string_view name, auto& value) {
      using X = std::remove_cvref_t<decltype(value)>;
      if constexpr (requires { (*this)(name, const_cast<X&>(value)); })
        (*this)(prefix + std::string(name), const_cast<X&>(value));
    });
  }
  /// A tensor, which may not be there when it is only compared.
  template <Element T, class Device>
  void part(const std::string& name, const Tensor<T, Device>& values, const dims& sizes, dtype type) {
    if constexpr (std::is_same_v<Device, Cpu>) {
      host_part(name, values.defined() ? values.state() : ref<tensor_state>(), sizes, type);
    } else if (!reads()) {
      kept_.insert_or_assign(prefix_ + name, array(values));
    } else if (const array* const found = fitting(name, sizes, type); found && writes()) {
      then([to = Tensor<T, Device>(values), from = found->template as<T>().to(values.device())] {
        const no_grad quiet;
        Tensor<T, Device>(to).copy_(from);
      });
    }
  }
  /// The same of the host.
  void host_part(const std::string& name, const ref<tensor_state>& values, const dims& sizes, dtype type) {
    if (!reads())
      kept_.insert_or_assign(prefix_ + name, array(values));
    else if (const array* const found = fitting(name, sizes, type); found && writes())
      then([values, found] { overwrite(values, *found); });
  }
  /// The parts of names that follow a prefix, up to the next dot.
  std::vector<std::string> names(const std::string& prefix) const {
    std::set<std::string> all;
    for (auto at = kept_.lower_bound(prefix_ + prefix); at != kept_.end() && at->first.starts_with(prefix_ + prefix);
         ++at) {
      const std::string rest = at->first.substr(prefix_.size() + prefix.size());
      all.insert(rest.substr(0, rest.find('.')));
    }
    return {all.begin(), all.end()};
  }
  /// Numbers as a tensor of these sizes; the names of what is found are noted.
  template <class T>
  void scalars(std::string_view name, T* values, const dims& sizes, bool write) {
    if (!reads()) {
      array kept(new_tensor(dtype_of<T>, sizes));
      std::memcpy(kept.state()->data, values, kept.bytes());
      kept_.insert_or_assign(prefix_ + std::string(name), std::move(kept));
    } else if (const array* const found = find(name)) {
      if (found->dtype() != dtype_of<T> || found->sizes() != sizes)
        misfit(name, message("here ", kiln::name(dtype_of<T>), " of shape ", sizes, ", in the file ",
                             kiln::name(found->dtype()), " of shape ", found->sizes()));
      else if (write)
        std::memcpy(values, found->data(), found->bytes());
    }
  }

 private:
  const array* fitting(const std::string& name, const dims& sizes, dtype type) {
    const array* const found = find(name);
    if (!found || (found->sizes() == sizes && found->dtype() == type)) return found;
    misfit(name, message("here ", kiln::name(type), " of shape ", sizes, ", in the file ", kiln::name(found->dtype()),
                         " of shape ", found->sizes()));
    return nullptr;
  }
  const array* find(std::string_view name) {
    const std::string whole = prefix_ + std::string(name);
    const auto at = kept_.find(whole);
    if (at == kept_.end()) {
      misfit(name, "missing");
      return nullptr;
    }
    used_.insert(whole);
    return &at->second;
  }
  tensor_map& kept_;
  mode how_;
  std::string prefix_, problems_;
  std::set<std::string> used_;
  std::vector<std::function<void()>> undo_, at_commit_;
};

}  // namespace kiln::io::detail
