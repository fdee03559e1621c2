; Made from chain.c by `python -m optgen.execute.cpu.generate`, with clang 22.1.8.
; SHA-256 of chain.c: d65779f89f895229c1176aafe1bf61667d2467a1594e153275284ebe81c3949c

%struct.chain = type { i64, ptr, i64, ptr }
%struct.link = type { ptr, ptr, ptr, ptr }
%struct.step = type { i64, ptr, ptr, ptr }

define void @optgen_chain_run(ptr %0) {
  %2 = alloca ptr, align 8
  %3 = alloca i64, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  store ptr %0, ptr %2, align 8
  store i64 0, ptr %3, align 8
  store i64 0, ptr %4, align 8
  br label %7

7:
  %8 = load i64, ptr %4, align 8
  %9 = load ptr, ptr %2, align 8
  %10 = getelementptr inbounds %struct.chain, ptr %9, i32 0, i32 2
  %11 = load i64, ptr %10, align 8
  %12 = icmp slt i64 %8, %11
  br i1 %12, label %13, label %25

13:
  %14 = load i64, ptr %3, align 8
  %15 = load ptr, ptr %2, align 8
  %16 = getelementptr inbounds %struct.chain, ptr %15, i32 0, i32 3
  %17 = load ptr, ptr %16, align 8
  %18 = load i64, ptr %4, align 8
  %19 = getelementptr inbounds i64, ptr %17, i64 %18
  %20 = load i64, ptr %19, align 8
  %21 = call i64 @larger(i64 %14, i64 %20)
  store i64 %21, ptr %3, align 8
  br label %22

22:
  %23 = load i64, ptr %4, align 8
  %24 = add nsw i64 %23, 1
  store i64 %24, ptr %4, align 8
  br label %7

25:
  store i64 0, ptr %5, align 8
  br label %26

26:
  %27 = load i64, ptr %5, align 8
  %28 = load ptr, ptr %2, align 8
  %29 = getelementptr inbounds %struct.chain, ptr %28, i32 0, i32 0
  %30 = load i64, ptr %29, align 8
  %31 = icmp slt i64 %27, %30
  br i1 %31, label %32, label %46

32:
  %33 = load ptr, ptr %2, align 8
  %34 = getelementptr inbounds %struct.chain, ptr %33, i32 0, i32 1
  %35 = load ptr, ptr %34, align 8
  %36 = load i64, ptr %5, align 8
  %37 = getelementptr inbounds %struct.link, ptr %35, i64 %36
  %38 = load ptr, ptr %2, align 8
  %39 = getelementptr inbounds %struct.chain, ptr %38, i32 0, i32 3
  %40 = load ptr, ptr %39, align 8
  %41 = load i64, ptr %3, align 8
  %42 = call i64 @gather(ptr %37, ptr %40, i64 %41)
  store i64 %42, ptr %3, align 8
  br label %43

43:
  %44 = load i64, ptr %5, align 8
  %45 = add nsw i64 %44, 1
  store i64 %45, ptr %5, align 8
  br label %26

46:
  store i64 0, ptr %6, align 8
  br label %47

47:
  %48 = load i64, ptr %6, align 8
  %49 = load ptr, ptr %2, align 8
  %50 = getelementptr inbounds %struct.chain, ptr %49, i32 0, i32 0
  %51 = load i64, ptr %50, align 8
  %52 = icmp slt i64 %48, %51
  br i1 %52, label %53, label %66

53:
  %54 = load ptr, ptr %2, align 8
  %55 = getelementptr inbounds %struct.chain, ptr %54, i32 0, i32 1
  %56 = load ptr, ptr %55, align 8
  %57 = load i64, ptr %6, align 8
  %58 = getelementptr inbounds %struct.link, ptr %56, i64 %57
  %59 = load ptr, ptr %2, align 8
  %60 = getelementptr inbounds %struct.chain, ptr %59, i32 0, i32 3
  %61 = load ptr, ptr %60, align 8
  %62 = load i64, ptr %3, align 8
  call void @run(ptr %58, ptr %61, i64 %62)
  br label %63

63:
  %64 = load i64, ptr %6, align 8
  %65 = add nsw i64 %64, 1
  store i64 %65, ptr %6, align 8
  br label %47

66:
  ret void
}

define internal i64 @larger(i64 %0, i64 %1) {
  %3 = alloca i64, align 8
  %4 = alloca i64, align 8
  store i64 %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  %5 = load i64, ptr %3, align 8
  %6 = load i64, ptr %4, align 8
  %7 = icmp sgt i64 %5, %6
  br i1 %7, label %8, label %10

8:
  %9 = load i64, ptr %3, align 8
  br label %12

10:
  %11 = load i64, ptr %4, align 8
  br label %12

12:
  %13 = phi i64 [ %9, %8 ], [ %11, %10 ]
  ret i64 %13
}

define internal i64 @gather(ptr %0, ptr %1, i64 %2) {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i64 %2, ptr %6, align 8
  %12 = load ptr, ptr %4, align 8
  %13 = getelementptr inbounds %struct.link, ptr %12, i32 0, i32 1
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr inbounds %struct.step, ptr %14, i32 0, i32 0
  %16 = load i64, ptr %15, align 8
  store i64 %16, ptr %7, align 8
  %17 = load ptr, ptr %4, align 8
  %18 = getelementptr inbounds %struct.link, ptr %17, i32 0, i32 2
  %19 = load ptr, ptr %18, align 8
  store ptr %19, ptr %8, align 8
  %20 = load ptr, ptr %4, align 8
  %21 = getelementptr inbounds %struct.link, ptr %20, i32 0, i32 1
  %22 = load ptr, ptr %21, align 8
  %23 = getelementptr inbounds %struct.step, ptr %22, i32 0, i32 3
  %24 = load ptr, ptr %23, align 8
  store ptr %24, ptr %9, align 8
  store i64 0, ptr %10, align 8
  br label %25

25:
  %26 = load i64, ptr %10, align 8
  %27 = load i64, ptr %7, align 8
  %28 = icmp slt i64 %26, %27
  br i1 %28, label %29, label %48

29:
  %30 = load ptr, ptr %5, align 8
  %31 = load ptr, ptr %8, align 8
  %32 = load i64, ptr %10, align 8
  %33 = getelementptr inbounds i64, ptr %31, i64 %32
  %34 = load i64, ptr %33, align 8
  %35 = getelementptr inbounds i64, ptr %30, i64 %34
  %36 = load i64, ptr %35, align 8
  store i64 %36, ptr %11, align 8
  %37 = load i64, ptr %11, align 8
  %38 = load ptr, ptr %9, align 8
  %39 = load i64, ptr %10, align 8
  %40 = getelementptr inbounds i64, ptr %38, i64 %39
  store i64 %37, ptr %40, align 8
  %41 = load i64, ptr %6, align 8
  %42 = load i64, ptr %11, align 8
  %43 = add nsw i64 %42, 1
  %44 = call i64 @larger(i64 %41, i64 %43)
  store i64 %44, ptr %6, align 8
  br label %45

45:
  %46 = load i64, ptr %10, align 8
  %47 = add nsw i64 %46, 1
  store i64 %47, ptr %10, align 8
  br label %25

48:
  %49 = load i64, ptr %6, align 8
  ret i64 %49
}

define internal void @run(ptr %0, ptr %1, i64 %2) {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca ptr, align 8
  %11 = alloca i64, align 8
  %12 = alloca i64, align 8
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i64 %2, ptr %6, align 8
  %13 = load ptr, ptr %4, align 8
  %14 = getelementptr inbounds %struct.link, ptr %13, i32 0, i32 1
  %15 = load ptr, ptr %14, align 8
  %16 = getelementptr inbounds %struct.step, ptr %15, i32 0, i32 0
  %17 = load i64, ptr %16, align 8
  store i64 %17, ptr %7, align 8
  %18 = load ptr, ptr %4, align 8
  %19 = getelementptr inbounds %struct.link, ptr %18, i32 0, i32 2
  %20 = load ptr, ptr %19, align 8
  store ptr %20, ptr %8, align 8
  %21 = load ptr, ptr %4, align 8
  %22 = getelementptr inbounds %struct.link, ptr %21, i32 0, i32 1
  %23 = load ptr, ptr %22, align 8
  %24 = getelementptr inbounds %struct.step, ptr %23, i32 0, i32 3
  %25 = load ptr, ptr %24, align 8
  store ptr %25, ptr %9, align 8
  %26 = load ptr, ptr %4, align 8
  %27 = getelementptr inbounds %struct.link, ptr %26, i32 0, i32 3
  %28 = load ptr, ptr %27, align 8
  store ptr %28, ptr %10, align 8
  %29 = load ptr, ptr %10, align 8
  %30 = icmp ne ptr %29, null
  br i1 %30, label %31, label %46

31:
  store i64 0, ptr %11, align 8
  br label %32

32:
  %33 = load i64, ptr %11, align 8
  %34 = load i64, ptr %7, align 8
  %35 = icmp slt i64 %33, %34
  br i1 %35, label %36, label %45

36:
  %37 = load i64, ptr %6, align 8
  %38 = sitofp i64 %37 to double
  %39 = load ptr, ptr %10, align 8
  %40 = load i64, ptr %11, align 8
  %41 = getelementptr inbounds double, ptr %39, i64 %40
  store double %38, ptr %41, align 8
  br label %42

42:
  %43 = load i64, ptr %11, align 8
  %44 = add nsw i64 %43, 1
  store i64 %44, ptr %11, align 8
  br label %32

45:
  br label %46

46:
  %47 = load ptr, ptr %4, align 8
  %48 = getelementptr inbounds %struct.link, ptr %47, i32 0, i32 0
  %49 = load ptr, ptr %48, align 8
  %50 = load ptr, ptr %4, align 8
  %51 = getelementptr inbounds %struct.link, ptr %50, i32 0, i32 1
  %52 = load ptr, ptr %51, align 8
  call void %49(ptr %52)
  store i64 0, ptr %12, align 8
  br label %53

53:
  %54 = load i64, ptr %12, align 8
  %55 = load i64, ptr %7, align 8
  %56 = icmp slt i64 %54, %55
  br i1 %56, label %57, label %71

57:
  %58 = load ptr, ptr %9, align 8
  %59 = load i64, ptr %12, align 8
  %60 = getelementptr inbounds i64, ptr %58, i64 %59
  %61 = load i64, ptr %60, align 8
  %62 = load ptr, ptr %5, align 8
  %63 = load ptr, ptr %8, align 8
  %64 = load i64, ptr %12, align 8
  %65 = getelementptr inbounds i64, ptr %63, i64 %64
  %66 = load i64, ptr %65, align 8
  %67 = getelementptr inbounds i64, ptr %62, i64 %66
  store i64 %61, ptr %67, align 8
  br label %68

68:
  %69 = load i64, ptr %12, align 8
  %70 = add nsw i64 %69, 1
  store i64 %70, ptr %12, align 8
  br label %53

71:
  ret void
}
