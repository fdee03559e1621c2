#[path = "adam/adam.rs"]
mod adam;

use adam::{Adam, AdamHyper, AdamOptions, AdamTensor, Error};
use std::ptr::{addr_of, addr_of_mut};

/// Weights of a plane, their gradients, and the shapes of both.
struct Plane {
    w: [f32; 2],
    b: [f32; 1],
    grad_w: [f32; 2],
    grad_b: [f32; 1],
    two: [i64; 1],
    one: [i64; 1],
}

fn main() -> Result<(), Error> {
    let mut p = Box::new(Plane { w: [0.0; 2], b: [0.0], grad_w: [0.0; 2], grad_b: [0.0], two: [2], one: [1] });
    let plane: *mut Plane = &mut *p;
    let mut hyper = AdamHyper { lr: 0.05, ..Default::default() };
    // The plane stays where it is, and nothing of it is borrowed while `step` is called.
    let mut context = unsafe {
        let tensor = |data: *mut f32, grad: *const f32, shape: *const i64| AdamTensor {
            data: data.cast(),
            grad: grad.cast(),
            shape,
            rank: 1,
        };
        let tensors = [
            tensor(addr_of_mut!((*plane).w).cast(), addr_of!((*plane).grad_w).cast(), addr_of!((*plane).two).cast()),
            tensor(addr_of_mut!((*plane).b).cast(), addr_of!((*plane).grad_b).cast(), addr_of!((*plane).one).cast()),
        ];
        Adam::new(&tensors, &AdamOptions::default(), &hyper)?
    };
    let mut loss = 0.0;
    for step in 0..500 {
        if step == 400 {
            hyper.lr = 0.005;
        }
        loss = unsafe { gradients(&mut *plane) };
        context.step(&hyper)?;
    }
    let p = unsafe { &*plane };
    println!("{:.3} {:.3} {:.3}, loss {:.6}", p.w[0], p.w[1], p.b[0], loss);
    Ok(())
}

/// Computes the gradients of the mean of squared errors, and that mean.
fn gradients(p: &mut Plane) -> f32 {
    (p.grad_w, p.grad_b) = ([0.0; 2], [0.0]);
    let mut loss = 0.0;
    for k in 0..16 {
        let (x, y) = ((k % 4) as f32 - 1.5, (k / 4) as f32 - 1.5);
        let error = p.w[0] * x + p.w[1] * y + p.b[0] - (2.0 * x - 3.0 * y + 1.0);
        loss += error * error / 16.0;
        p.grad_w[0] += error * x / 8.0;
        p.grad_w[1] += error * y / 8.0;
        p.grad_b[0] += error / 8.0;
    }
    loss
}
