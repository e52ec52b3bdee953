// SPDX-License-Identifier: BSL-1.0
// Processes that mpirun has started, through MPI. initialize() makes the group of all of them. Collectives are MPI's
// non-blocking ones, so that a wait can end with an error: when a rank that it needs has ended, or after a time limit.
// Before each, all ranks compare what they call (signature.hpp); elements go when that has come, in the order of calls.
#pragma once

#if !__has_include(<mpi.h>)
#error \
    "kiln/distributed.hpp needs MPI: install it (Debian: libopenmpi-dev openmpi-bin), and give the compiler \
its folder: by CMake's find_package(MPI) and the target MPI::MPI_CXX, or with the compiler mpicxx"
#else

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/core/half.hpp>
#include <kiln/distributed/process_group.hpp>
#include <kiln/distributed/signature.hpp>

namespace kiln::distributed {

struct initialize_options {
  /// How long a rank waits for the others in one collective, and at its end.
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
};

namespace detail {

/// Throws device_error with MPI's own words.
inline void check_mpi(int code, std::string_view what) {
  if (code == MPI_SUCCESS) return;
  char words[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, words, &length);
  throw device_error(message("distributed::", what, ": ", std::string(words, static_cast<std::size_t>(length)),
                             "; start the program by mpirun, and look at what it says"));
}

/// The sum of halves, rounded once for each rank that is added.
template <class Half>
void add_halves(void* from, void* to, int* count, MPI_Datatype*) {
  const Half* in = static_cast<const Half*>(from);
  Half* sum = static_cast<Half*>(to);
  for (int i = 0; i < *count; ++i) sum[i] = Half(static_cast<float>(sum[i]) + static_cast<float>(in[i]));
}

/// What an element is to MPI. Halves are unknown to it: two bytes, with a sum of our own.
inline MPI_Datatype mpi_type_of(dtype type) {
  switch (type) {
    case dtype::boolean:
    case dtype::uint8:
      return MPI_UINT8_T;
    case dtype::int8:
      return MPI_INT8_T;
    case dtype::int16:
      return MPI_INT16_T;
    case dtype::int32:
      return MPI_INT32_T;
    case dtype::int64:
      return MPI_INT64_T;
    case dtype::float32:
      return MPI_FLOAT;
    case dtype::float64:
      return MPI_DOUBLE;
    default:
      return MPI_UINT16_T;
  }
}

template <class T>
void scale(void* data, std::int64_t count, double by) {
  T* const x = static_cast<T*>(data);
  using C = std::conditional_t<sizeof(T) == 2, float, T>;
  for (std::int64_t i = 0; i < count; ++i) x[i] = T(static_cast<C>(x[i]) * static_cast<C>(by));
}
/// Divides floating elements by a number.
inline void divide(const elements& of, int by) {
  const double factor = 1.0 / by;
  if (of.type == dtype::float32) return scale<float>(of.data, of.count, factor);
  if (of.type == dtype::float64) return scale<double>(of.data, of.count, factor);
  if (of.type == dtype::float16) return scale<half>(of.data, of.count, factor);
  scale<bfloat16>(of.data, of.count, factor);
}

/// All processes of one mpirun.
class mpi_group final : public process_group {
 public:
  explicit mpi_group(const initialize_options& options) : timeout_(options.timeout) {
    int before = 0;
    check_mpi(MPI_Initialized(&before), "initialize");
    started_here_ = before == 0;
    if (started_here_) {
      int level = 0;
      check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "initialize");
    }
    // Three of our own: what others send over MPI_COMM_WORLD is not ours, signatures come in the order of calls
    // whatever elements are under way, and farewells overtake both.
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "initialize");
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &signatures_), "initialize");
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &farewells_), "initialize");
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(signatures_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(farewells_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
    calls_when_left_.assign(static_cast<std::size_t>(size_), -1);
    MPI_Op_create(&add_halves<half>, 1, &add_half_);
    MPI_Op_create(&add_halves<bfloat16>, 1, &add_bfloat16_);
  }
  ~mpi_group() override = default;

  int rank() const override { return rank_; }
  int world_size() const override { return size_; }
  std::string_view backend() const override { return "mpi"; }
  bool on_cuda() const override { return false; }

  std::unique_ptr<work> start_all_reduce(const elements& of, reduce_op op) override {
    check_reduction(of.type, op);
    const MPI_Op how = op_of(of.type, op);
    return start(signature::of(collective::all_reduce, of, op), of, in_parts([=, this](part x) {
                   return MPI_Iallreduce(MPI_IN_PLACE, x.data, x.count, mpi_type_of(of.type), how, world_, x.request);
                 }));
  }
  std::unique_ptr<work> start_broadcast(const elements& of, int root) override {
    check_root(*this, root, "broadcast");
    return start(signature::of(collective::broadcast, of, {}, root), of, in_parts([=, this](part x) {
                   return MPI_Ibcast(x.data, x.count, mpi_type_of(of.type), root, world_, x.request);
                 }));
  }
  std::unique_ptr<work> start_all_gather(const elements& of, const elements& all) override {
    if (all.count != of.count * size_ || all.type != of.type)
      throw value_error(message("distributed::all_gather: ", of.count, " elements of each of ", size_,
                                " ranks do not fill ", all.count, ": make room for their product"));
    if (of.count > most_at_once)
      throw value_error(message("distributed::all_gather: ", of.count, " elements are more than ", most_at_once,
                                ", the most that go at once: gather them in parts"));
    auto made = start(signature::of(collective::all_gather, of), of, [=, this](pending& p) {
      const int count = static_cast<int>(of.count);
      p.add([&](MPI_Request* request) {
        return MPI_Iallgather(of.data, count, mpi_type_of(of.type), all.data, count, mpi_type_of(of.type), world_,
                              request);
      });
    });
    made->other = all.memory;
    return made;
  }
  void barrier() override {
    const elements none{nullptr, 0, dtype::uint8, nullptr};
    start(signature::of(collective::barrier, none), none, [](pending&) {})->wait();  // what is compared is from all
  }

  /// Says good-bye, so that nobody waits for this rank in vain, and waits for all others to do the same. Not if
  /// `in_error`, or after one of our own: then mpirun sees a process end before its time, and ends the others.
  void leave(bool in_error) noexcept {
    int ended = 0;
    if (MPI_Finalized(&ended) != MPI_SUCCESS || ended) return;
    farewell_ = calls_;
    for (int to = 0; to < size_; ++to) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (to != rank_) MPI_Isend(&farewell_, 1, MPI_INT64_T, to, 0, farewells_, &request);
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    if (in_error || failed_) return;
    try {
      MPI_Request all_left = MPI_REQUEST_NULL;
      check_mpi(MPI_Ibarrier(farewells_, &all_left), "the end");
      const auto start = clock::now();
      for (int done = 0; !done;) {
        check_mpi(MPI_Test(&all_left, &done, MPI_STATUS_IGNORE), "the end");
        hear_farewells();
        if (!done && clock::now() - start > timeout_)
          throw device_error(message("distributed: rank ", rank_, " has ended, and the others have not within ",
                                     timeout_.count(), " ms: let all ranks do the same number of steps"));
        if (!done) std::this_thread::yield();
      }
    } catch (const std::exception& e) {
      std::cerr << e.what() << '\n';
      MPI_Abort(MPI_COMM_WORLD, 1);
      return;
    }
    MPI_Op_free(&add_half_);
    MPI_Op_free(&add_bfloat16_);
    MPI_Comm_free(&farewells_);
    MPI_Comm_free(&signatures_);
    MPI_Comm_free(&world_);
    if (started_here_) MPI_Finalize();
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::int64_t most_at_once = std::int64_t{1} << 30;  // MPI counts in int

  class pending final : public work {
   public:
    using begin = std::function<void(pending&)>;
    pending(mpi_group& group, const signature& mine, const elements& of, begin how)
        : group_(group), of_(of), begin_(std::move(how)), number_(++group.calls_), compared_{{mine}, {}} {
      compared_.theirs.resize(static_cast<std::size_t>(group.size_), mine);
      group.not_begun_.push_back(this);
      if (group.size_ > 1) {
        constexpr int bytes = sizeof(signature);
        const int code = MPI_Iallgather(compared_.mine.data(), bytes, MPI_BYTE, compared_.theirs.data(), bytes,
                                        MPI_BYTE, group.signatures_, &asked_);
        if (code != MPI_SUCCESS) group.not_begun_.pop_back();
        check_mpi(code, what());
      }
    }
    // Nobody waits for it any more, but MPI may still write: the memory has to stay.
    ~pending() override {
      if (done_) return;
      try {
        wait();
      } catch (const std::exception&) {
        std::erase(group_.not_begun_, this);
        static auto& abandoned = *new std::vector<std::pair<ref<storage>, ref<storage>>>;
        static auto& compared = *new std::vector<signatures>;
        abandoned.emplace_back(of_.memory, other);
        compared.push_back(std::move(compared_));
      }
    }
    bool completed() override {
      if (done_) return true;
      group_.begin_next();
      if (failure_) {
        done_ = true;
        std::rethrow_exception(failure_);
      }
      if (!begun_) return false;
      int all = 0;
      check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE), what());
      if (all) finish();
      return done_;
    }
    void wait() override {
      const auto start = clock::now();
      for (int tries = 0; !completed(); ++tries) {
        if (tries % 16 != 15) continue;
        group_.check_others(number_, what(), of_, clock::now() - start);
        std::this_thread::yield();
      }
    }
    /// Lets elements go, if all ranks have said what they call. What does not agree throws when somebody waits.
    bool begin_if_agreed() {
      int there = 1;
      if (asked_ != MPI_REQUEST_NULL) check_mpi(MPI_Test(&asked_, &there, MPI_STATUS_IGNORE), what());
      if (!there) return false;
      begun_ = true;
      try {
        check_agreement(compared_.theirs, group_.rank_);
        begin_(*this);
      } catch (...) {
        failure_ = std::current_exception();
      }
      return true;
    }
    template <class Call>
    void add(Call call) {
      MPI_Request request = MPI_REQUEST_NULL;
      check_mpi(call(&request), what());
      requests_.push_back(request);
    }
    const elements& of() const { return of_; }
    ref<storage> other;

   private:
    // MPI reads and writes them, at their own places on the heap.
    struct signatures {
      std::vector<signature> mine, theirs;
    };
    std::string_view what() const { return name(compared_.mine[0].which); }
    void finish() {
      done_ = true;
      const signature& mine = compared_.mine[0];
      if (mine.which == collective::all_reduce && reduce_op(mine.op) == reduce_op::mean) divide(of_, group_.size_);
    }
    mpi_group& group_;
    elements of_;
    begin begin_;
    bool begun_ = false, done_ = false;
    std::int64_t number_;  // of the call, which all ranks count alike
    signatures compared_;
    MPI_Request asked_ = MPI_REQUEST_NULL;
    std::vector<MPI_Request> requests_;
    std::exception_ptr failure_;
  };
  struct part {
    void* data;
    int count;
    MPI_Request* request;
  };

  std::unique_ptr<pending> start(const signature& mine, const elements& of, pending::begin what) {
    auto made = std::make_unique<pending>(*this, mine, of, std::move(what));
    begin_next();
    return made;
  }
  /// In parts that MPI can count.
  template <class Call>
  static pending::begin in_parts(Call call) {
    return [call](pending& p) {
      const elements& of = p.of();
      const auto width = static_cast<std::int64_t>(size_of(of.type));
      std::int64_t at = 0;
      do {
        const std::int64_t now = std::min(of.count - at, most_at_once);
        void* const from = static_cast<char*>(of.data) + at * width;
        p.add([&](MPI_Request* request) { return call(part{from, static_cast<int>(now), request}); });
        at += now;
      } while (at < of.count);
    };
  }
  void begin_next() {
    while (!not_begun_.empty() && not_begun_.front()->begin_if_agreed()) not_begun_.pop_front();
  }
  MPI_Op op_of(dtype type, reduce_op op) const {
    if (type == dtype::float16 || type == dtype::bfloat16) {
      if (op == reduce_op::sum || op == reduce_op::mean) return type == dtype::float16 ? add_half_ : add_bfloat16_;
      throw value_error(message("distributed::all_reduce: the ", distributed::name(op), " of ", kiln::name(type),
                                " elements: MPI knows none: cast<float>() them before"));
    }
    if (type == dtype::boolean)  // 0 and 1: any, all, all
      return op == reduce_op::sum || op == reduce_op::max ? MPI_MAX : MPI_MIN;
    switch (op) {
      case reduce_op::min:
        return MPI_MIN;
      case reduce_op::max:
        return MPI_MAX;
      case reduce_op::product:
        return MPI_PROD;
      default:
        return MPI_SUM;
    }
  }
  void hear_farewells() {
    for (int there = 1; there;) {
      MPI_Status from;
      check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, 0, farewells_, &there, &from), "a farewell");
      if (!there) return;
      std::int64_t calls = 0;
      check_mpi(MPI_Recv(&calls, 1, MPI_INT64_T, from.MPI_SOURCE, 0, farewells_, MPI_STATUS_IGNORE), "a farewell");
      calls_when_left_[static_cast<std::size_t>(from.MPI_SOURCE)] = calls;
    }
  }
  /// Throws device_error if a collective can never end, or takes too long.
  void check_others(std::int64_t number, std::string_view what, const elements& of, clock::duration waited) {
    hear_farewells();
    const auto fail = [&](const auto&... why) {
      failed_ = true;
      throw device_error(message("distributed::", what, " of ", of.count, " ", kiln::name(of.type), " elements: rank ",
                                 rank_, " of ", size_, why...));
    };
    for (int other = 0; other < size_; ++other)
      if (const std::int64_t calls = calls_when_left_[static_cast<std::size_t>(other)]; calls >= 0 && calls < number)
        fail(" waits for rank ", other,
             ", which has ended: look at what that one said, and let all ranks do the same "
             "number of steps");
    if (waited > timeout_)
      fail(" has waited ", timeout_.count(),
           " ms for the others: let all ranks call the same collectives in the same "
           "order, or give initialize() a longer .timeout");
  }

  const std::chrono::milliseconds timeout_;
  bool started_here_ = false, failed_ = false;
  int rank_ = 0, size_ = 1;
  MPI_Comm world_ = MPI_COMM_NULL, signatures_ = MPI_COMM_NULL, farewells_ = MPI_COMM_NULL;
  std::deque<pending*> not_begun_;  // whose signatures have not come, in the order of calls
  MPI_Op add_half_ = MPI_OP_NULL, add_bfloat16_ = MPI_OP_NULL;
  std::int64_t calls_ = 0, farewell_ = 0;
  std::vector<std::int64_t> calls_when_left_;  // -1: still there
};

}  // namespace detail

/// The group of all processes, while it lives. Its end is this rank's farewell: it waits for all others to come to
/// theirs. An exception that ends it ends the others too, within the time that mpirun takes.
class [[nodiscard]] environment {
 public:
  explicit environment(const initialize_options& options)
      : group_(std::make_unique<detail::mpi_group>(options)), unwinding_(std::uncaught_exceptions()) {
    detail::default_group = group_.get();
  }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;
  ~environment() {
    detail::default_group = nullptr;
    group_->leave(std::uncaught_exceptions() > unwinding_);
  }

 private:
  std::unique_ptr<detail::mpi_group> group_;
  int unwinding_;
};

/// Joins the processes that mpirun has started beside this one; a program that was started alone is the only rank. Call
/// it once, first thing in main(), and keep what it returns until all work is done:
/// `const auto processes = distributed::initialize(argc, argv);`. Throws device_error if MPI cannot start,
/// value_error for a time limit that is none, graph_error where a group is there already.
inline environment initialize(int& /*argc*/, char**& /*argv*/, const initialize_options& options = {}) {
  if (options.timeout.count() <= 0)
    throw value_error(message("distributed::initialize: .timeout is ", options.timeout.count(),
                              " ms: give the time that a rank may wait for others"));
  if (detail::default_group)
    throw graph_error("distributed::initialize: the processes are joined already: keep the result of the first call");
  return environment(options);
}

/// The same under PyTorch's name.
inline environment init_process_group(int& argc, char**& argv, const initialize_options& options = {}) {
  return initialize(argc, argv, options);
}

}  // namespace kiln::distributed

#endif
