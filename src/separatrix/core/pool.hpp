// Threads that share out whole items of work. The results depend neither on how many there are nor on who does what.
#pragma once

#include "records.hpp"

using Work = void (*)(void *what, i64 item, i64 lane);

// work(what, item, lane) for every item, on up to `threads` threads; `lane` tells them apart. Many callers may come at
// once: whoever finds the threads at work for another does its own.
void share_out(i64 threads, i64 items, Work work, void *what);

template <class F> void share_out(i64 threads, i64 items, const F &f) {
    const Work work = [](void *what, i64 item, i64 lane) { (*static_cast<const F *>(what))(item, lane); };
    share_out(threads, items, work, const_cast<F *>(&f));
}
