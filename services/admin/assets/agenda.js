// Moves an appointment by dragging its block to another time or staff member. It sends the form of the page
// that moves appointments, which also works without this script.
"use strict";

(() => {
  const form = document.getElementById("drag");
  if (!form) return;

  const step = 5; // minutes of a row of the agenda
  const grid = 15; // minutes between the starts that can be chosen
  let block = null; // that is being dragged
  let grip = 0; // distance of the pointer from the top of the block

  const rowOf = (track) => parseFloat(getComputedStyle(track).gridAutoRows);

  document.addEventListener("dragstart", (event) => {
    block = event.target.closest("[data-move]");
    if (!block) return;
    grip = event.clientY - block.getBoundingClientRect().top;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", block.textContent.trim());
  });

  document.addEventListener("dragover", (event) => {
    const track = event.target.closest(".track");
    if (!block || !track) return;
    event.preventDefault();
    for (const other of document.querySelectorAll(".track.over")) other.classList.toggle("over", other === track);
    track.classList.add("over");
  });

  document.addEventListener("dragend", () => {
    block = null;
    for (const track of document.querySelectorAll(".track.over")) track.classList.remove("over");
  });

  document.addEventListener("drop", (event) => {
    const track = event.target.closest(".track");
    if (!block || !track) return;
    event.preventDefault();
    const top = event.clientY - grip - track.getBoundingClientRect().top;
    const minutes = Math.round((top / rowOf(track)) * step / grid) * grid;
    const start = new Date(Date.parse(track.dataset.begins) + Math.max(0, minutes) * 60000);
    form.action = block.dataset.move;
    form.elements.start.value = start.toISOString().replace(/\.\d+Z$/, "Z");
    form.elements.staff.value = track.dataset.staff;
    form.elements.version.value = block.dataset.version;
    form.requestSubmit();
  });
})();
