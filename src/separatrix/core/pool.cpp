#include "pool.hpp"

#include <cstddef>

#if defined(_WIN32)

void share_out(i64, i64 items, Work work, void *what) {
    for (i64 item = 0; item < items; item++) work(what, item, 0);
}

#else

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#if defined(__x86_64__)
static inline void breathe() { __builtin_ia32_pause(); }
#elif defined(__aarch64__)
static inline void breathe() { __asm__ volatile("yield"); }
#else
static inline void breathe() {}
#endif

namespace {

constexpr i64 MOST = 256;      // threads
constexpr int PATIENCE = 4000;  // looks for more work, some 50 µs, before a thread lies down
constexpr uint64_t OPEN = 1 << 16, COUNT = OPEN - 1, NEXT = OPEN << 1;

struct Pool {
    pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER;  // one caller at a time has the threads
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
    i64 workers = 0;
    i64 sleepers = 0;
    // The job's number, whether it may still be joined, and how many threads are in it: in one word, so that nobody
    // joins a job that its caller has closed, and the caller waits for those alone who did.
    uint64_t door = 0;
    i64 next = 0, items = 0, lanes = 0;
    Work work = nullptr;
    void *what = nullptr;
} pool;

void take_items(i64 lane) {
    for (;;) {
        const i64 item = __atomic_fetch_add(&pool.next, 1, __ATOMIC_RELAXED);
        if (item >= pool.items) return;
        pool.work(pool.what, item, lane);
    }
}

bool fresh(uint64_t door, uint64_t seen) { return (door & OPEN) && door / NEXT != seen; }

void *worker(void *number) {
    const i64 lane = i64(reinterpret_cast<intptr_t>(number));
    uint64_t seen = 0;
    for (;;) {
        uint64_t door = __atomic_load_n(&pool.door, __ATOMIC_ACQUIRE);
        for (int look = 0; look < PATIENCE && !fresh(door, seen); look++) {
            breathe();
            door = __atomic_load_n(&pool.door, __ATOMIC_ACQUIRE);
        }
        if (!fresh(door, seen)) {
            pthread_mutex_lock(&pool.lock);
            __atomic_fetch_add(&pool.sleepers, 1, __ATOMIC_SEQ_CST);
            while (!fresh(door = __atomic_load_n(&pool.door, __ATOMIC_SEQ_CST), seen))
                pthread_cond_wait(&pool.wake, &pool.lock);
            __atomic_fetch_sub(&pool.sleepers, 1, __ATOMIC_SEQ_CST);
            pthread_mutex_unlock(&pool.lock);
        }
        while (fresh(door, seen))
            if (__atomic_compare_exchange_n(&pool.door, &door, door + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
                seen = door / NEXT;
                if (lane < pool.lanes) take_items(lane);
                __atomic_fetch_sub(&pool.door, 1, __ATOMIC_RELEASE);
            }
    }
    return nullptr;
}

void after_fork() {  // the child has no threads but its own: it starts afresh
    const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pool.owner = pool.lock = mutex;
    pool.wake = cond;
    pool.workers = pool.sleepers = 0;
    pool.door = 0;
}

bool start_workers(i64 wanted) {
    static bool registered = false;  // only the owner of the threads comes here
    if (!registered && pthread_atfork(nullptr, nullptr, after_fork) != 0) return false;
    registered = true;
    sigset_t all, before;
    sigfillset(&all);  // signals are for the threads of Python
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.workers < wanted) {
        pthread_t thread;
        if (pthread_create(&thread, nullptr, worker, reinterpret_cast<void *>(intptr_t(pool.workers + 1))) != 0) break;
        pthread_detach(thread);
        pool.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return pool.workers > 0;
}

}  // namespace

void share_out(i64 threads, i64 items, Work work, void *what) {
    if (threads > MOST) threads = MOST;
    if (threads > items) threads = items;
    if (threads < 2 || pthread_mutex_trylock(&pool.owner) != 0) {
        for (i64 item = 0; item < items; item++) work(what, item, 0);
        return;
    }
    if (!start_workers(threads - 1)) threads = 1;
    pool.work = work;
    pool.what = what;
    pool.items = items;
    pool.lanes = threads;
    __atomic_store_n(&pool.next, 0, __ATOMIC_RELAXED);
    const uint64_t job = __atomic_load_n(&pool.door, __ATOMIC_RELAXED) / NEXT + 1;
    __atomic_store_n(&pool.door, job * NEXT + OPEN, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool.sleepers, __ATOMIC_SEQ_CST) > 0) {
        pthread_mutex_lock(&pool.lock);
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.lock);
    }
    take_items(0);
    __atomic_fetch_and(&pool.door, ~OPEN, __ATOMIC_ACQ_REL);
    for (int look = 0; __atomic_load_n(&pool.door, __ATOMIC_ACQUIRE) & COUNT; look++)
        look < PATIENCE ? breathe() : (void)sched_yield();
    pthread_mutex_unlock(&pool.owner);
}

#endif
